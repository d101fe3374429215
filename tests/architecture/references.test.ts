import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');
const files = globSync(
  [
    '*.md',
    '{apps,deploy,docs,packages,scripts,simulators,tests}/**/*.{css,md,mjs,service,sh,sql,ts,tsx,yml,Caddyfile}',
  ],
  { cwd: root, exclude: ['**/node_modules/**', '**/dist/**'] },
);
/** Every text, without the marks of comments at the begin of a line: a reference may be broken over two lines. */
const texts = files.map((file) => ({
  file,
  text: readFileSync(join(root, file), 'utf8').replaceAll(/\s*\n[ \t]*(?:\*|\/\/|#|--|>)?[ \t]*/g, ' '),
}));

/** The numbers that `pattern` finds, with the files that name them, without those that are `known`. */
function missing(pattern: RegExp, known: ReadonlySet<string>, least: number): string[] {
  const named = texts.flatMap(({ file, text }) =>
    [...text.matchAll(pattern)].flatMap(([, list = '']) =>
      [...list.matchAll(/\d+[a-z]?/g)].map(([number]) => ({ file, number })),
    ),
  );
  assert.ok(named.length > least, `saw only ${named.length} references`);
  return named.filter(({ number }) => !known.has(number)).map(({ file, number }) => `${file}: ${number}`);
}

test('every section of the contracts that is named anywhere exists', () => {
  const page = readFileSync(join(root, 'docs/contracts.md'), 'utf8');
  const sections = new Set([...page.matchAll(/^## (\d+[a-z]?)\. /gm)].map(([, number = '']) => number));
  assert.ok(sections.size > 15);
  assert.deepEqual(
    missing(/contracts(?:\.md)?[,)]? sections? (\d+[a-z]?(?:(?:,| and|, and) \d+[a-z]?)*)/g, sections, 100),
    [],
  );
});

test('every decision that is named anywhere exists', () => {
  const decisions = new Set(globSync('docs/adr/*.md', { cwd: root }).map((path) => String(Number(path.slice(9, 13)))));
  assert.ok(decisions.size > 60);
  const named = /ADRs? 0*(\d+(?:(?:,| and|, and) 0*\d+)*)/g;
  assert.deepEqual(missing(named, decisions, 90), []);
});
