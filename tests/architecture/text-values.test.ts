import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';

const root = join(import.meta.dirname, '../..');

/** English texts by key; the forms of a plural are one text. */
const texts = new Map<string, string>();

function addTexts(value: unknown, key: string): void {
  if (typeof value !== 'string') {
    for (const [name, inner] of Object.entries(value as object)) addTexts(inner, `${key}.${name}`);
    return;
  }
  const base = key.replace(/_(one|other)$/, '');
  texts.set(base, `${texts.get(base) ?? ''}${value}`);
}

for (const file of globSync('apps/web/src/i18n/en/*.json', { cwd: root }))
  addTexts(JSON.parse(readFileSync(join(root, file), 'utf8')), basename(file, '.json'));

/** Calls of `t` that leave out a value that a text names, in the web app or in one more file. */
function findGaps(planted?: { file: string; content: string }): { gaps: string[]; calls: number } {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined };
  const read = ts.getParsedCommandLineOfConfigFile(join(root, 'apps/web/tsconfig.json'), {}, host);
  assert.ok(read);
  const compiler = ts.createCompilerHost(read.options);
  const { readFile, fileExists } = compiler;
  compiler.readFile = (name) => (name === planted?.file ? planted.content : readFile(name));
  compiler.fileExists = (name) => name === planted?.file || fileExists(name);
  const types = read.fileNames.filter((name) => name.endsWith('.d.ts'));
  const files = planted === undefined ? read.fileNames : [...types, planted.file];
  const program = ts.createProgram(files, read.options, compiler);
  const checker = program.getTypeChecker();
  const gaps: string[] = [];
  let calls = 0;
  for (const file of program.getSourceFiles()) {
    const name = file.fileName.slice(root.length + 1);
    if (!name.startsWith('apps/web/src/') || name.endsWith('.test.ts')) continue;
    const visit = (node: ts.Node): void => {
      ts.forEachChild(node, visit);
      if (!ts.isCallExpression(node) || node.expression.getText().split('.').at(-1) !== 't') return;
      const [key, values] = node.arguments;
      if (key === undefined) return;
      calls += 1;
      const given = values === undefined ? undefined : checker.getTypeAtLocation(values);
      for (const one of keysOf(checker.getTypeAtLocation(key)))
        for (const [, value = ''] of (texts.get(one) ?? '').matchAll(/\{\{(\w+)\}\}/g))
          if (given === undefined || checker.getPropertyOfType(given, value) === undefined)
            gaps.push(`${name}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1} ${one}: ${value}`);
    };
    visit(file);
  }
  return { gaps: [...new Set(gaps)], calls };
}

const keysOf = (type: ts.Type): string[] =>
  type.isUnion() ? type.types.flatMap(keysOf) : type.isStringLiteral() ? [type.value] : [];

test('who shows a text gives every value that it names', () => {
  const { gaps, calls } = findGaps();
  assert.ok(calls > 1_000, `saw only ${calls} calls`);
  assert.deepEqual(gaps, []);
});

test('a value that is missing is found', () => {
  const file = join(root, 'apps/web/src/planted-text.ts');
  assert.deepEqual(globSync(file), []);
  const content = `import type { TFunction } from 'i18next';
export const said = (t: TFunction, kind: 'updating' | 'fine') => [t(\`health.\${kind}\`, { to: '1' }), t('home.zone.on')];`;
  assert.deepEqual(findGaps({ file, content }).gaps, [
    'apps/web/src/planted-text.ts:2 health.updating: version',
    'apps/web/src/planted-text.ts:2 home.zone.on: number',
  ]);
});
