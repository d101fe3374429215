import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseEnvFile } from './env-file.ts';

describe('parseEnvFile', () => {
  const cases: [string, string, Record<string, string>][] = [
    ['plain', 'A=1\nB=2\n', { A: '1', B: '2' }],
    ['double quotes', 'A="x # y"\nB="1\\n2"', { A: 'x # y', B: '1\n2' }],
    ['single quotes', 'A=\'x "y" \\n\'', { A: 'x "y" \\n' }],
    ['backticks', 'A=`it\'s "so"`', { A: 'it\'s "so"' }],
    ['comments', '# A=1\nB=2 # no\nC="#yes"', { B: '2', C: '#yes' }],
    ['export and blanks', '  export A = 1\n\tB =2', { A: '1', B: '2' }],
    ['Windows line ends', 'A=1\r\nB="2"\r\n', { A: '1', B: '2' }],
    ['old Mac line ends', 'A=1\rB=2', { A: '1', B: '2' }],
    ['a byte order mark', '\uFEFFA=1', { A: '1' }],
    ['an empty value', 'A=\nB=2', { A: '', B: '2' }],
    ['a value of blanks', 'A=  \nB=2', { A: '', B: '2' }],
    ['a value over lines', 'A="1\nB=3"\nC=2', { A: '1\nB=3', C: '2' }],
    ['a quote that is not closed', 'A="1\nB=2', { A: '"1', B: '2' }],
    ['lines that assign nothing', 'hello\n=5\nA=1', { A: '1' }],
    ['nothing', '', {}],
  ];
  for (const [title, text, values] of cases) {
    it(`reads ${title}`, () => assert.deepEqual(parseEnvFile(text), { values, warnings: [] }));
  }

  it('uses the last of several values and warns with the lines, never with the values', () => {
    const { values, warnings } = parseEnvFile(
      'TOKEN=secret-one\nA=1\n\nexport TOKEN="secret-two"\nTOKEN=secret-three\n',
    );
    assert.deepEqual(values, { TOKEN: 'secret-three', A: '1' });
    assert.deepEqual(warnings, ['TOKEN is set more than once (lines 1, 4, 5); the last one counts']);
  });

  it('does not take a line inside a quoted value for a duplicate', () => {
    assert.deepEqual(parseEnvFile('A=1\nB="\nA=2\n"\n').warnings, []);
    assert.deepEqual(parseEnvFile('# A=1\nA=2').warnings, []);
    assert.deepEqual(parseEnvFile('A=1\nB="\nA=2\n"\nA=3').warnings, [
      'A is set more than once (lines 1, 5); the last one counts',
    ]);
  });
});
