package programs

import (
	"strings"
	"testing"
)

// TestStarted: a check stays one with a launcher or a folder of the project in front, and nothing
// else becomes one.
func TestStarted(t *testing.T) {
	for want, commands := range map[Class][]string{
		Check: {
			"python -m pytest -q tests", "python3 -m unittest discover -s tests", "uv run pytest tests/test_a.py -q", "uv run ruff check src",
			"poetry run pytest", ".venv/bin/python -m pytest", "./gradlew :app:compileDebugKotlin -q", "./gradlew test --tests X", "mvn -q -o test -Dtest=A",
			"npx vitest run src/a.test.ts", "npx jest --runInBand", "npx --no-install tsc --noEmit", "node_modules/.bin/tsc --noEmit", "yarn tsc --noEmit", "pnpm exec eslint src",
			"npm test", "npm test -- --run src", "npm run test -- --coverage", "pnpm --filter @a/b test", "pnpm -F b lint", "vendor/bin/phpunit --filter A",
			"bundle exec rspec spec/a.rb", "dotnet test --nologo -v q", "swift build", "zig build", "zig build test", "deno test", "bun test", "mix test", "black --check src", "python -m black --check src",
		},
		Write: {"rm -rf .pytest_cache src/__pycache__", "black src"},
	} {
		for _, command := range commands {
			if e, _ := Known().ClassOf(strings.Fields(command), nil); e.Class != want {
				t.Errorf("%s: %q, want %q", command, e.Class, want)
			}
		}
	}
	for _, command := range []string{
		"python -m pip install x", "python -m eslint", "python a.py", "uv run a.py", "uv run --with x pytest", "uv pip install x", "poetry publish", "bundle exec rake deploy",
		"npx create-app", "npx tsc", "npx biome check", "npx -p evil vitest", "npx vitest@latest", "npx husky init", "npx vitest --config=/tmp/x", "bunx cowsay", "yarn dlx jest", "pnpm dlx jest",
		"npm publish", "npm run deploy", "npm test -- --reporter=/tmp/x.js", "npm run test -- --config x", "npm run -- test deploy", "pnpm --filter a publish", "pnpm --filter test install",
		"./gradlew publish", "./gradlew :app:publish", "./gradlew test publish", "mvn deploy", "mvn -q -o test deploy", "/tmp/pytest", "../.venv/bin/pytest", "vendor/bin/ls", "./deploy.sh", ".venv/bin/pip install x", "node_modules/.bin/rm -rf x",
		"dotnet run", "dotnet test @x", "dotnet build /t:Publish", "dotnet build -t:Publish", "zig build deploy", "zig build test deploy", "swift run", "deno run a.ts", "deno test --allow-all", "deno check https://a.b/c.ts", "bun x", "mix hex.publish",
		"ctest -D Experimental", "ansible-lint", "rm -rf src", "rm -rf .pytest_cache src", "rm -rf", "rm -rf .pytest_cache/", "rm -rf .git",
		"yarn yarn yarn test", strings.Repeat("uv run ", 20) + "pytest",
	} {
		switch e, _ := Known().ClassOf(strings.Fields(command), nil); {
		case e.Class == Check, e.Class == Read, e.Class == Write:
			t.Errorf("%s: %q", command, e.Class)
		}
	}
}
