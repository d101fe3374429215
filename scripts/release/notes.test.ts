import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { notesOf } from './notes.ts';

const changelog = `# Changelog

## [Unreleased]

## [1.1.0] - 2026-11-22

### Added

- Something.

## [1.0.0]

- The first release.

[1.0.0]: https://example.org/v1.0.0
`;

describe('notes of a release', () => {
  test('are the section of the version, without its heading and links', () => {
    assert.equal(notesOf(changelog, '1.1.0'), '### Added\n\n- Something.\n');
    assert.equal(notesOf(changelog, '1.0.0'), '- The first release.\n');
  });

  test('are missing when there is no section, or an empty one', () => {
    assert.equal(notesOf(changelog, '1.1'), null);
    assert.equal(notesOf(changelog, 'Unreleased'), null);
  });
});
