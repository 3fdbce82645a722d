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
			"npx vitest run src/a.test.ts", "npx tsc --noEmit", "cmake -S . -B build -DX=1", "cmake --build build -j 4", "ninja -C build", "make -j2", "make clean", "cargo clippy --all-targets -- -D warnings", "cargo test keep -- --nocapture", "golangci-lint run ./a/...", "go build -o bin/ ./cmd/a", "python -m pyflakes a.py", "actionlint x.yml", "npx jest --runInBand", "npx --no-install tsc --noEmit", "node_modules/.bin/tsc --noEmit", "yarn tsc --noEmit", "pnpm exec eslint src",
			"npm test", "npm test -- --run src", "npm run test -- --coverage", "pnpm --filter @a/b test", "pnpm -F b lint", "vendor/bin/phpunit --filter A",
			"bundle exec rspec spec/a.rb", "dotnet test --nologo -v q", "swift build", "zig build", "zig build test", "deno test", "bun test", "mix test", "black --check src", "python -m black --check src",
		},
		Write:  {"rm -rf .pytest_cache src/__pycache__", "git merge main"},
		Format: {"black src", "npx prettier --write src", "yarn prettier --write src", "uv run ruff check --fix src", "pnpm exec eslint --fix src", "deno fmt", "terraform fmt -recursive", "sed -i s/a/b/g a.go", "sed -i -E s/a+/b/ a.go", "clang-format -i a.c"},
		Project: {
			"python a.py --json out.json", "python3 -u scripts/report.py", "node scripts/size.mjs dist", "bash scripts/test.sh", "uv run python manage.py check", "php artisan route:list", "go run ./cmd/app -v",
			"./build/app --help", "build/tests/unit", "/work/app/run.sh",
		},
		Read: {"node --version", "node -v", "gcc -v", "java -version", "bash -n a.sh", "curl -s http://localhost:8080/health", "curl -sS -o /dev/null -w %{http_code} 127.0.0.1:3000/", "unzip -l a.zip", "tar -tzf a.tgz", "docker compose ps"},
	} {
		for _, command := range commands {
			if e, _ := Known().ClassOf(strings.Fields(command), nil); e.Class != want {
				t.Errorf("%s: %q, want %q", command, e.Class, want)
			}
		}
	}
	for _, command := range []string{
		"python -m pip install x", "python -m eslint", "uv run a.py", "uv run --with x pytest", "uv pip install x", "poetry publish", "bundle exec rake deploy",
		"npx create-app", "npx biome check", "npx -p evil vitest", "npx vitest@latest", "npx husky init", "npx vitest --config=/tmp/x", "bunx cowsay", "yarn dlx jest", "pnpm dlx jest",
		"npm publish", "npm run deploy", "npm test -- --reporter=/tmp/x.js", "npm run test -- --config x", "npm run -- test deploy", "pnpm --filter a publish", "pnpm --filter test install",
		"./gradlew publish", "./gradlew :app:publish", "./gradlew test publish", "mvn deploy", "mvn -q -o test deploy", "/tmp/pytest", "../.venv/bin/pytest", "vendor/bin/ls", "./deploy.sh", ".venv/bin/pip install x", "node_modules/.bin/rm -rf x",
		"dotnet run --project ../x", "dotnet run --launch-profile x", "dotnet test @x", "dotnet build /t:Publish", "dotnet build -t:Publish", "zig build deploy", "zig build test deploy", "swift run", "deno run a.ts", "deno test --allow-all", "deno check https://a.b/c.ts", "bun x", "mix hex.publish",
		"python -c print(1)", "python -", "python", "python -m http.server", "python -i a.py", "python deploy.py", "python manage.py migrate", "python manage.py shell", "php artisan tinker", "node -e 1", "node --require ./x.js a.js", "bash -c ls", "bash a.txt", "go run example.org/x@latest",
		"./deploy/deploy.sh production", "./scripts/release.sh", "./app --url https://a.example", "./app user@host", "bin/rails runner x", "bin/rails db:migrate", "./node", "./rm x", "build/git push", "vendor/bin/evil", "~/bin/terraform apply",
		"sed -i e a.go", "sed -i s/a/b/e a.go", "sed -i s/a/b/w a.go", "sed -i -f x a.go", "sed -i w/etc/x a.go", "prettier --write --config=/tmp/x src", "eslint --fix --config x src",
		"curl http://localhost@evil.example/", "curl http://localhost.evil.example/", "curl -X POST http://localhost/", "curl -d x localhost", "curl -L http://localhost/", "curl -o f http://localhost/", "curl -so f localhost", "curl --output=f localhost", "curl http://localhost/ https://evil.example", "curl -H @f localhost", "curl -K f localhost", "curl localhost:80@evil.example", "curl -w %output{f} localhost", "curl", "curl http://169.254.169.254/",
		"unzip a.zip", "tar -xf a.tgz", "tar -tf host:a.tgz", "tar -tf a --to-command=x", "cmake -P x", "cmake -E rm -rf x", "cmake --build build --target install", "cmake --install build", "make install", "docker compose up", "docker compose config", "deploy --version", "deploy -v", "make -v", "python3 -v", "tmux -v", "node -v x", "node --version x",
		"ctest -D Experimental", "ansible-lint", "rm -rf src", "rm -rf .pytest_cache src", "rm -rf", "rm -rf .pytest_cache/", "rm -rf .git",
		"yarn yarn yarn test", strings.Repeat("uv run ", 20) + "pytest",
	} {
		switch e, _ := Known().ClassOf(strings.Fields(command), nil); {
		case e.Class == Check, e.Class == Read, e.Class == Write, e.Class == Format, e.Class == Project:
			t.Errorf("%s: %q", command, e.Class)
		}
	}
}
