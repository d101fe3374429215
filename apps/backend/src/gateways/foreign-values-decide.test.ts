import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainText } from './foreign-values-decide.ts';

test('a name from another system is what people see of it', () => {
  for (const name of ['Lamp', '°C', '%', 'چراغ\u200cخواب', '👩\u200d🚀']) assert.equal(plainText(name), name);
  assert.equal(plainText(' \u202eLamp\u202c\n'), 'Lamp');
  for (const unseen of ['', ' ', '\u200b', '\u3164\u2800', '\u202e', '\u{e0041}'])
    assert.equal(plainText(unseen), null);
});
