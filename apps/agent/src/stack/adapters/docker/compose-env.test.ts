import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readComposeFiles, readOperatorFiles, withComposeFiles } from './compose-env.ts';

const files = ['docker-compose.yml', '/data/compose.update.override.yml'];

test('adds the compose files to an environment file and keeps the rest', () => {
  const cases: [string, string][] = [
    ['', 'COMPOSE_FILE=docker-compose.yml:/data/compose.update.override.yml\n'],
    ['A=1', 'A=1\nCOMPOSE_FILE=docker-compose.yml:/data/compose.update.override.yml\n'],
    ['# note\nA="x y"\n\n', '# note\nA="x y"\nCOMPOSE_FILE=docker-compose.yml:/data/compose.update.override.yml\n'],
  ];
  for (const [before, after] of cases) assert.equal(withComposeFiles(before, files, false), after);
});

test('replaces what an operator named, with the separator in force', () => {
  const text = 'COMPOSE_PATH_SEPARATOR=;\nCOMPOSE_FILE="docker-compose.yml;local.yml"\nB=2\n';
  assert.deepEqual(readComposeFiles(text), ['docker-compose.yml', 'local.yml']);
  const changed = withComposeFiles(text, ['docker-compose.yml', 'local.yml', '/data/o.yml'], false);
  assert.deepEqual(readComposeFiles(changed), ['docker-compose.yml', 'local.yml', '/data/o.yml']);
  assert.match(changed, /^B=2$/m);
});

test('does not touch a file that names them already', () => {
  const text = `X=1\nCOMPOSE_FILE=${files.join(':')}\nY=2\n`;
  assert.equal(withComposeFiles(text, files, false), text);
});

test('reads no files where none are named', () => {
  for (const text of ['', 'A=1\n', '# COMPOSE_FILE=a.yml\n', 'COMPOSE_FILE=\n', 'MY_COMPOSE_FILE=a.yml\n']) {
    assert.equal(readComposeFiles(text), null, JSON.stringify(text));
  }
});

test('takes the last of several, as Compose does', () => {
  assert.deepEqual(readComposeFiles("COMPOSE_FILE=a.yml\nexport COMPOSE_FILE='b.yml:c.yml'\n"), ['b.yml', 'c.yml']);
});

test('reads a name as Compose does: without a note behind it, in quotes as it is, after a byte order mark', () => {
  for (const [text, files] of [
    ['COMPOSE_FILE=a.yml # note\n', ['a.yml']],
    ['COMPOSE_FILE=a.yml:b#c.yml   # note: twice\r\n', ['a.yml', 'b#c.yml']],
    ['COMPOSE_FILE="a #1.yml" # note\n', ['a #1.yml']],
    ['COMPOSE_FILE: a.yml\n', ['a.yml']],
    ['\u00ef\u00bb\u00bfCOMPOSE_FILE=a.yml\n', ['a.yml']],
    ['COMPOSE_PATH_SEPARATOR=; # note\nCOMPOSE_FILE=a.yml;b.yml\n', ['a.yml', 'b.yml']],
  ] as const) {
    assert.deepEqual(readComposeFiles(text), files, text);
    assert.equal(withComposeFiles(text, files, false), text);
  }
  const changed = withComposeFiles('COMPOSE_FILE="a #1.yml" # note\n', ['a #1.yml', 'b.yml'], false);
  assert.deepEqual(readComposeFiles(changed), ['a #1.yml', 'b.yml']);
});

test('a name that is not ASCII is read and written as UTF-8', () => {
  const bytes = (text: string): string => Buffer.from(text).toString('latin1');
  const text = bytes('# кав’я\u00e0\nCOMPOSE_FILE=стек\u00e0\n');
  assert.deepEqual(readComposeFiles(text), ['стек\u00e0']);
  assert.equal(
    withComposeFiles(text, ['стек\u00e0', 'б.yml'], false),
    bytes('# кав’я\u00e0\nCOMPOSE_FILE=стек\u00e0:б.yml\n').replace('\n\n', '\n'),
  );
});

const override = '/data/compose.update.override.yml';

test('a line that the agent wrote is noted, and is no choice of the operator', () => {
  const line = `COMPOSE_FILE=docker-compose.yml:${override}\n`;
  const text = withComposeFiles('A=1\n', ['docker-compose.yml', override], true);
  assert.match(text, /^A=1\n# The station agent writes the next line.*\nCOMPOSE_FILE=docker-compose.yml:.*\n$/);
  assert.equal(withComposeFiles(text, ['docker-compose.yml', override], true), text);
  assert.equal(withComposeFiles(text, ['docker-compose.yml', override], false), `A=1\n${line}`);
  assert.equal(readOperatorFiles(text, override), null);
  assert.equal(readOperatorFiles(text, '/new/compose.update.override.yml'), null);
  assert.equal(readOperatorFiles(text.replaceAll('\n', '\r\n'), override), null);
  const withDefault = withComposeFiles('', ['compose.yml', 'compose.override.yaml', override], true);
  assert.equal(readOperatorFiles(withDefault, override), null);
});

test('files that a person named stay, without the override of an earlier DATA_DIR', () => {
  const noted = withComposeFiles('', ['docker-compose.yml', override], true);
  for (const [text, files] of [
    [`COMPOSE_FILE=prod.yml:${override}\n`, ['prod.yml', override]],
    [`COMPOSE_FILE=prod.yml:/old/compose.update.override.yml\n`, ['prod.yml']],
    [`COMPOSE_FILE=${override}:prod.yml\n`, [override, 'prod.yml']],
    [
      noted.replace('docker-compose.yml', 'docker-compose.yml:local.yml'),
      ['docker-compose.yml', 'local.yml', override],
    ],
    ['COMPOSE_FILE=prod.yml:compose.update.override.yml\n', ['prod.yml', 'compose.update.override.yml']],
    [`COMPOSE_FILE=/old/compose.update.override.yml\n`, null],
    ['', null],
  ] as const) {
    assert.deepEqual(readOperatorFiles(text, override), files, text);
  }
});
