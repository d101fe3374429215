import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { alphabet, isSameCode, newCode, stationCodeGroups } from './codes.ts';

describe('a code that people type', () => {
  const same: [string, string][] = [
    ['BCDF-2345-GHJK', 'BCDF-2345-GHJK'],
    ['BCDF-2345-GHJK', 'bcdf2345ghjk'],
    ['ABCDE23456', ' ab cde-234 56 '],
  ];
  for (const [kept, typed] of same) {
    it(`"${typed}" is "${kept}"`, () => assert.equal(isSameCode(typed, kept), true));
  }

  const others = ['', '-', 'BCDF-2345-GHJ', 'BCDF-2345-GHJKK', 'BCDF-2345-GHJL', 'ВCDF-2345-GHJK', 'BCDF_2345_GHJK'];
  for (const typed of others) {
    it(`"${typed}" is another one`, () => assert.equal(isSameCode(typed, 'BCDF-2345-GHJK'), false));
  }
});

describe('a new code', () => {
  it('has groups of four letters and digits that are not confused', () => {
    assert.match(newCode(stationCodeGroups), new RegExp(`^[${alphabet}]{4}-[${alphabet}]{4}-[${alphabet}]{4}$`));
    assert.doesNotMatch(alphabet, /[AEIOUY01]/);
  });

  it('is another one each time', () => {
    assert.equal(new Set(Array.from({ length: 100 }, () => newCode(stationCodeGroups))).size, 100);
  });
});
