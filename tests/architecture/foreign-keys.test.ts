import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';

const root = join(import.meta.dirname, '../..');
const configs = ['tsconfig.json', 'apps/web/tsconfig.json'];
const isProduct = (file: string): boolean =>
  /^(apps|packages)\/[^/]+\/src\//.test(file) && !/\.test\.tsx?$|^packages\/protocol\/src\/own-value\.ts$/.test(file);

/** Places where a record is read or written by a key that is any text: `constructor` and `__proto__` are such texts. */
function findPlaces(config: string, text?: { file: string; content: string }): string[] {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined };
  const read = ts.getParsedCommandLineOfConfigFile(join(root, config), {}, host);
  assert.ok(read);
  const compiler = ts.createCompilerHost(read.options);
  const { readFile, fileExists } = compiler;
  if (text !== undefined) {
    compiler.readFile = (name) => (name === text.file ? text.content : readFile(name));
    compiler.fileExists = (name) => name === text.file || fileExists(name);
  }
  const product = read.fileNames.filter((name) => isProduct(name.slice(root.length + 1)));
  const program = ts.createProgram(text === undefined ? product : [text.file], read.options, compiler);
  const checker = program.getTypeChecker();
  const places: string[] = [];
  for (const file of program.getSourceFiles()) {
    const name = file.fileName.slice(root.length + 1);
    if (!isProduct(name)) continue;
    const visit = (node: ts.Node): void => {
      if (ts.isElementAccessExpression(node) && isForeign(checker, node)) {
        const { line } = file.getLineAndCharacterOfPosition(node.getStart());
        places.push(`${name}:${line + 1} ${node.getText()}`);
      }
      ts.forEachChild(node, visit);
    };
    visit(file);
  }
  return places;
}

function isForeign(checker: ts.TypeChecker, { expression, argumentExpression }: ts.ElementAccessExpression): boolean {
  if (!isAnyText(checker.getTypeAtLocation(argumentExpression))) return false;
  const type = checker.getApparentType(checker.getNonNullableType(checker.getTypeAtLocation(expression)));
  return !checker.isArrayLikeType(type) && (type.flags & ts.TypeFlags.StringLike) === 0;
}

const anyText = ts.TypeFlags.String | ts.TypeFlags.TemplateLiteral | ts.TypeFlags.Any | ts.TypeFlags.Unknown;

const isAnyText = (type: ts.Type): boolean =>
  type.isUnionOrIntersection() ? type.types.some(isAnyText) : (type.flags & anyText) !== 0;

test('a record is read and written by a key from outside with ownValue and setOwnValue alone', () => {
  const places = new Set(configs.flatMap((config) => findPlaces(config)));
  assert.deepEqual([...places], []);
});

test('such a read is found', () => {
  const file = join(root, 'apps/backend/src/planted-read.ts');
  assert.deepEqual(globSync(file), []);
  const content = 'export const read = (state: Record<string, unknown>, key: string): unknown => state[key];';
  assert.deepEqual(findPlaces('tsconfig.json', { file, content }), ['apps/backend/src/planted-read.ts:1 state[key]']);
});
