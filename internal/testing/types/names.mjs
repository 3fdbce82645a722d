// Prints the names of the installed packages openai and @anthropic-ai/sdk, by TypeScript's own reading of their
// types: a JSON object per line with the dialect, the kind and the name.
import ts from 'typescript';
import { writeFileSync } from 'node:fs';

// Which types have the names: the module, the types that may be unions, and the members that name the variants.
const responses = 'openai/resources/responses/responses';
const betaResponses = 'openai/resources/beta/responses/responses';
const chat = 'openai/resources/chat/completions/completions';
const messages = '@anthropic-ai/sdk/resources/messages/messages';
const betaMessages = '@anthropic-ai/sdk/resources/beta/messages/messages';
const both = (dialect, kind, plain, beta, name) => [
  { dialect, kind, module: plain, type: name },
  { dialect, kind, module: beta, type: 'Beta' + name },
];
const wanted = [
  ...both('responses', 'item', responses, betaResponses, 'ResponseOutputItem'),
  ...both('responses', 'event', responses, betaResponses, 'ResponseStreamEvent'),
  ...both('responses', 'event', responses, betaResponses, 'ResponsesServerEvent'),
  ...both('responses', 'block', responses, betaResponses, 'ResponseOutputMessage[content]'),
  ...both('responses', 'block', responses, betaResponses, 'ResponseContentPartAddedEvent[part]'),
  ...both('responses', 'input', responses, betaResponses, 'ResponseInputItem'),
  ...both('responses', 'tool', responses, betaResponses, 'Tool'),
  { dialect: 'responses', kind: 'field', module: responses, type: 'ResponseCreateParamsBase' },
  { dialect: 'responses', kind: 'field', module: betaResponses, type: 'ResponseCreateParamsBase' },
  { dialect: 'chat', kind: 'call', module: chat, type: 'ChatCompletionMessageToolCall' },
  { dialect: 'chat', kind: 'member', module: chat, type: 'ChatCompletionMessage' },
  { dialect: 'chat', kind: 'member', module: chat, type: 'ChatCompletionChunk[choices][delta]' },
  { dialect: 'chat', kind: 'input', module: chat, type: 'ChatCompletionMessageParam', member: 'role' },
  { dialect: 'chat', kind: 'tool', module: chat, type: 'ChatCompletionTool' },
  { dialect: 'chat', kind: 'field', module: chat, type: 'ChatCompletionCreateParamsBase' },
  ...both('messages', 'block', messages, betaMessages, 'ContentBlock'),
  ...both('messages', 'event', messages, betaMessages, 'RawMessageStreamEvent'),
  ...both('messages', 'delta', messages, betaMessages, 'RawContentBlockDelta'),
  ...both('messages', 'input', messages, betaMessages, 'ContentBlockParam'),
  ...both('messages', 'tool', messages, betaMessages, 'ToolUnion'),
  { dialect: 'messages', kind: 'field', module: messages, type: 'MessageCreateParamsBase' },
  { dialect: 'messages', kind: 'field', module: betaMessages, type: 'MessageCreateParamsBase' },
];

const lines = wanted.map(({ module, type }, i) => {
  const [name, ...path] = type.split(/[[\]]+/).filter(Boolean);
  const member = path.map((p) => `['${p}']` + (p === 'choices' || p === 'content' ? '[number]' : '')).join('');
  return `import type { ${name} as T${i} } from '${module}';\nexport type N${i} = T${i}${member};`;
});
writeFileSync('wanted.mts', lines.join('\n') + '\n');

const program = ts.createProgram(['wanted.mts'], {
  module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, target: ts.ScriptTarget.ES2023,
  strict: true, skipLibCheck: true, noEmit: true, types: [],
});
const checker = program.getTypeChecker();
const source = program.getSourceFile('wanted.mts');
const types = new Map();
source.forEachChild((node) => {
  if (ts.isTypeAliasDeclaration(node)) types.set(node.name.text, checker.getTypeAtLocation(node));
});

const variants = (type) => (type.isUnion() ? type.types.flatMap(variants) : [type]);
const literals = (type) => variants(type).filter((t) => t.isStringLiteral()).map((t) => t.value);
wanted.forEach(({ dialect, kind, module, type, member = 'type' }, i) => {
  const found = types.get('N' + i);
  const names = variants(found).flatMap((variant) => {
    if (kind === 'field' || kind === 'member') return checker.getPropertiesOfType(variant).map((p) => p.name);
    const property = variant.getProperty?.(member);
    return property ? literals(checker.getTypeOfSymbol(property)) : [];
  });
  if (found.flags & ts.TypeFlags.Any || names.length === 0) {
    console.error(`${type} of ${module} is gone, or has no names: look where they are now, and change names.mjs`);
    process.exitCode = 1;
  }
  for (const name of names) console.log(JSON.stringify({ dialect, kind, name }));
});
