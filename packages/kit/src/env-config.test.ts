import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as is from './config-values.ts';
import { group, readVariables, renderExample, renderTables, secretsIn } from './env-config.ts';

const variables = {
  ...group('First', {
    NAME: { check: is.matching(/^[a-z]+$/, 'be of a-z'), required: true, help: 'A name.' },
    COUNT: { check: is.wholeNumber(1, 9), default: '3', help: 'How many | how often.' },
  }),
  ...group('Second', {
    SECRET_WORD: { check: is.token, secret: true, otherwise: 'there is none', help: 'A word.' },
    FOLDER: { check: is.path, default: '~/data', help: 'A folder.' },
  }),
} as const;
const context = { homeDirectory: '/home/anna' };

describe('variables', () => {
  it('give typed values and defaults; an empty variable counts as unset', () => {
    const { values, problems, isSet } = readVariables(
      variables,
      { NAME: ' anna ', SECRET_WORD: '', COUNT: '5' },
      context,
    );
    const count: number = values.COUNT;
    const word: string | null = values.SECRET_WORD;
    assert.deepEqual([values.NAME, count, word, values.FOLDER, problems], ['anna', 5, null, '/home/anna/data', []]);
    assert.deepEqual([isSet('COUNT'), isSet('FOLDER'), isSet('SECRET_WORD')], [true, false, false]);
  });

  it('report all problems at once, without the values', () => {
    const { problems } = readVariables(variables, { COUNT: '10', SECRET_WORD: 'two words', FOLDER: 'here' }, context);
    assert.deepEqual(problems, [
      'NAME must be set',
      'COUNT must be a whole number from 1 to 9',
      'SECRET_WORD must be printable ASCII without blanks, at most 512 characters',
      'FOLDER must be an absolute path',
    ]);
  });

  it('list the values of secrets', () => {
    assert.deepEqual(secretsIn(variables, { NAME: 'anna', SECRET_WORD: ' hush ' }), ['hush']);
    assert.deepEqual(secretsIn(variables, { SECRET_WORD: ' ' }), []);
  });

  it('are rendered as an example file', () => {
    const text = renderExample('An example.', variables);
    assert.match(text, /^# An example\.\n\n## First\n# A name\. Must be of a-z\.\nNAME=\n/);
    assert.match(text, /\n#COUNT=3\n\n## Second\n# A word\. Unset: there is none\. Must .*\n(# .*\n)?#SECRET_WORD=\n/);
  });

  it('are rendered as tables', () => {
    const text = renderTables(variables);
    assert.ok(text.includes('| `NAME` |  | A name. Must be of a-z. Required. |'));
    assert.ok(text.includes('| `COUNT` | `3` | How many \\| how often. Must be a whole number from 1 to 9. |'));
    assert.ok(text.includes('### Second'));
    assert.match(text, /`SECRET_WORD` \| there is none \| .* Secret\. \|/);
  });
});
