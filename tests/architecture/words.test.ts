import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '../..');

/** Words that once stood for something that has a name in the field, and that name. */
const words: readonly [banned: RegExp, instead: string][] = [
  [/\bhappenings?\b/i, 'event'],
  [/\bgreetings?\b|\bgreetings?(?=[A-Z])(?!Timeout)/, 'handshake'],
  [/\bset[ _-]?asides?\b|setAside/i, 'dead letter'],
  [/\brelief\b|[rR]elief(?=[A-Z])|(?<=[a-z])Relief\b/, 'space shortage'],
  [/candidate[ -]?book/i, 'candidates'],
  [/\brefresh_tokens\b/, 'sessions'],
  [/told[- ]?radio/i, 'radio broadcast'],
  [/\bstation[.-]hold\b|\bimage[- ]?holds?\b/i, 'image pin'],
  [/\b(broken|dead|slow|wired) line\b|LineBroken/, 'connection'],
  [/\bline(: | = )createExclusiveRunner|\bline\.run\(/, 'runner'],
];

const files = globSync(
  ['*.md', '{apps,deploy,docs,packages,scripts,simulators,tests}/**/*.{json,md,mjs,sh,sql,ts,tsx,yml}'],
  {
    cwd: root,
    exclude: ['**/node_modules/**', '**/dist/**', 'tests/output/**', 'tests/architecture/words.test.ts'],
  },
);

function banned(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return words.flatMap(([pattern, instead]) => {
    const found = pattern.exec(text);
    return found === null ? [] : [`${file}: "${found[0]}" is called "${instead}"`];
  });
}

test('a thing has one name, in code, texts and documents', () => {
  assert.ok(files.length > 1_000, `saw only ${files.length} files`);
  assert.deepEqual(files.flatMap(banned), []);
});

test('names and sentences are both seen', () => {
  for (const text of [
    'const greeting = 1',
    'a set-aside message',
    'outbox.setAside',
    'decideRelief()',
    'the relief of a disk',
    'over a slow line',
    'await line.run(load)',
  ])
    assert.ok(
      words.some(([pattern]) => pattern.test(text)),
      text,
    );
});
