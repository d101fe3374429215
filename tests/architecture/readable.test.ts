import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';

const root = join(import.meta.dirname, '../..');
const files = globSync('{apps,deploy,packages,scripts,simulators,tests}/**/*.{mjs,ts,tsx}', {
  cwd: root,
  exclude: ['**/node_modules/**', '**/dist/**'],
});

/** What saves lines and costs reading. */
const tricks: Readonly<Record<string, (node: ts.Node) => boolean>> = {
  'an object literal spread into a literal': (node) =>
    (ts.isSpreadAssignment(node) || ts.isJsxSpreadAttribute(node)) &&
    ts.isObjectLiteralExpression(plain(node.expression)),
  'an array literal spread into a literal or a call': (node) =>
    ts.isSpreadElement(node) && ts.isArrayLiteralExpression(plain(node.expression)),
  'variables from an array literal': (node) =>
    ts.isVariableDeclaration(node) &&
    ts.isArrayBindingPattern(node.name) &&
    isLiteral(node.initializer, ts.isArrayLiteralExpression) &&
    !(plain(node.initializer) as ts.ArrayLiteralExpression).elements.some(ts.isSpreadElement),
  'variables from an object literal': (node) =>
    ts.isVariableDeclaration(node) &&
    ts.isObjectBindingPattern(node.name) &&
    isLiteral(node.initializer, ts.isObjectLiteralExpression) &&
    !(plain(node.initializer) as ts.ObjectLiteralExpression).properties.some(ts.isSpreadAssignment),
  'assignments from an array literal': (node) =>
    ts.isBinaryExpression(node) &&
    node.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    ts.isArrayLiteralExpression(node.left) &&
    ts.isArrayLiteralExpression(plain(node.right)),
  'a pattern of rest parameters': (node) =>
    ts.isParameter(node) && node.dotDotDotToken !== undefined && !ts.isIdentifier(node.name),
  'a call in `return void`': (node) =>
    ts.isReturnStatement(node) && node.expression !== undefined && endsInVoid(node.expression),
};

function plain(expression: ts.Expression): ts.Expression {
  let found = expression;
  while (ts.isParenthesizedExpression(found) || ts.isAsExpression(found)) found = found.expression;
  return found;
}

/** Also in a branch: `return a ? undefined : void f()`. */
function endsInVoid(expression: ts.Expression): boolean {
  const found = plain(expression);
  if (ts.isConditionalExpression(found)) return endsInVoid(found.whenTrue) || endsInVoid(found.whenFalse);
  return ts.isBinaryExpression(found) ? endsInVoid(found.right) : ts.isVoidExpression(found);
}

const isLiteral = (
  expression: ts.Expression | undefined,
  is: (node: ts.Node) => boolean,
): expression is ts.Expression => expression !== undefined && is(plain(expression));

function findTricks(name: string, text: string): string[] {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    for (const [what, is] of Object.entries(tricks)) {
      if (is(node)) found.push(`${name}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${what}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

/** What each trick has in its text; parsing every file would take long. */
const traces: readonly RegExp[] = [
  // A literal that is spread.
  /\.\.\.\(*[[{]/,
  // A pattern that is given an array literal; not a type such as `string[] = [`.
  /[^[]\](?:: [^\n=]*)? = \(?\[/,
  // A pattern that is given an object literal.
  /[^{]\}(?:: [^\n=]*)? = \(?\{/,
  /return [^\n]*\bvoid /,
];
const hasTrace = (text: string): boolean => traces.some((trace) => trace.test(text));

test('nothing is written shorter than it reads', () => {
  assert.ok(files.length > 1500, `saw only ${files.length} files`);
  const texts = files.map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));
  assert.deepEqual(
    texts.flatMap(({ file, text }) => (hasTrace(text) ? findTricks(file, text) : [])),
    [],
  );
});

const planted: readonly (readonly [code: string, count: number])[] = [
  ['const a = { ...{ b, c }, d };', 1],
  ['const a = [...([b, c] as const), d];', 1],
  ['f(...[b, c]);', 1],
  ['const a = <B {...{ c, d }} />;', 1],
  ['const [a, b] = [1, 2];', 1],
  ['const { a, b } = { a: 1, b: 2 };', 1],
  ['[a, b] = [b, a];', 1],
  ['function f() { return void g(); }', 1],
  ['function f() { return a ? undefined : void g(); }', 1],
  ['function f(a, ...[b]) {}', 1],
  ['function f(a, ...rest) {}', 0],
  ['const a = { ...b, ...(c ? { d } : {}) };', 0],
  ['const [first, ...rest] = [...a, b];', 0],
  ['const { a, b } = { ...defaults, ...given };', 0],
  ['const [a, b] = await Promise.all([c(), d()]);', 0],
];

for (const [code, count] of planted) {
  test(`${code} is ${count === 0 ? 'allowed' : 'found'}`, () => {
    assert.equal(hasTrace(code) ? findTricks('planted.tsx', code).length : 0, count);
  });
}
