import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readComposeFiles, withComposeFiles } from './compose.ts';

const files = ['docker-compose.yml', '/data/compose.update.override.yml'];

test('adds the compose files to an environment file and leaves the rest alone', () => {
  const cases: [string, string][] = [
    ['', 'COMPOSE_FILE=docker-compose.yml:/data/compose.update.override.yml\n'],
    ['A=1', 'A=1\nCOMPOSE_FILE=docker-compose.yml:/data/compose.update.override.yml\n'],
    ['# note\nA="x y"\n\n', '# note\nA="x y"\nCOMPOSE_FILE=docker-compose.yml:/data/compose.update.override.yml\n'],
  ];
  for (const [before, after] of cases) assert.equal(withComposeFiles(before, files), after);
});

test('replaces what an operator named, with the separator in force', () => {
  const text = 'COMPOSE_PATH_SEPARATOR=;\nCOMPOSE_FILE="docker-compose.yml;local.yml"\nB=2\n';
  assert.deepEqual(readComposeFiles(text), ['docker-compose.yml', 'local.yml']);
  const changed = withComposeFiles(text, ['docker-compose.yml', 'local.yml', '/data/o.yml']);
  assert.deepEqual(readComposeFiles(changed), ['docker-compose.yml', 'local.yml', '/data/o.yml']);
  assert.match(changed, /^B=2$/m);
});

test('does not touch a file that names them already', () => {
  const text = `X=1\nCOMPOSE_FILE=${files.join(':')}\nY=2\n`;
  assert.equal(withComposeFiles(text, files), text);
});

test('reads no files where none are named', () => {
  for (const text of ['', 'A=1\n', '# COMPOSE_FILE=a.yml\n', 'COMPOSE_FILE=\n', 'MY_COMPOSE_FILE=a.yml\n']) {
    assert.equal(readComposeFiles(text), null, JSON.stringify(text));
  }
});

test('takes the last of several, as Compose does', () => {
  assert.deepEqual(readComposeFiles("COMPOSE_FILE=a.yml\nexport COMPOSE_FILE='b.yml:c.yml'\n"), ['b.yml', 'c.yml']);
});
