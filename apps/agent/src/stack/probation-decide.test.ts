import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addLook, judgeProbation, type ProbationLook, type ProbationSeen } from './probation-decide.ts';
import type { ContainerFact } from './stack-ports.ts';

const container = (changes: Partial<ContainerFact> = {}): ContainerFact => ({
  id: 'one',
  service: 'backend',
  image: 'any',
  imageId: 'sha256:b',
  state: 'running',
  health: 'none',
  restartCount: 2,
  exitCode: 0,
  ...changes,
});
const quiet: ProbationLook = { containers: [container()], memory: { backend: 0.4 }, pageFault: null };
const look = (changes: Partial<ProbationLook> = {}): ProbationLook => ({ ...quiet, ...changes });

const codeAfter = (...looks: ProbationLook[]): string | undefined => {
  const seen = looks.reduce<ProbationSeen | null>(addLook, null);
  return seen === null ? undefined : judgeProbation(seen, looks.at(-1)?.containers ?? [])?.code;
};
const times = (count: number, one: ProbationLook): ProbationLook[] => Array.from({ length: count }, () => one);

describe('a release on probation', () => {
  test('stays while nothing speaks against it', () => assert.equal(codeAfter(...times(100, quiet)), undefined));

  test('goes when one of its services has crashed three times since', () => {
    const crashed = (restartCount: number) => look({ containers: [container({ restartCount })] });
    assert.equal(codeAfter(quiet, crashed(4)), undefined);
    assert.equal(codeAfter(quiet, crashed(5)), 'release_crashes');
    const between = look({ containers: [container({ restartCount: 5, state: 'restarting' })] });
    assert.equal(codeAfter(quiet, between), 'release_crashes', 'also in the moment between two starts');
  });

  test('counts a container that is new from its start', () => {
    const other = (restartCount: number) => look({ containers: [container({ id: 'other', restartCount })] });
    assert.equal(codeAfter(quiet, other(2)), undefined);
    assert.equal(codeAfter(quiet, other(3)), 'release_crashes');
  });

  test('goes when its memory stays full, not at a peak', () => {
    const full = look({ memory: { backend: 0.98, frontend: 0.2 } });
    assert.equal(codeAfter(...times(4, full)), undefined);
    assert.equal(codeAfter(...times(4, full), quiet, ...times(4, full)), undefined);
    assert.equal(codeAfter(...times(5, full)), 'release_out_of_memory');
  });

  test('goes when its page stays broken, not for a moment', () => {
    const broken = look({ pageFault: 'the page answers 502' });
    assert.equal(codeAfter(...times(4, broken), quiet), undefined);
    assert.equal(codeAfter(...times(5, broken)), 'release_page_broken');
  });

  test('is judged while a service has done its work and ended before', () => {
    const done = container({ id: 'migration', service: 'migration', state: 'exited', restartCount: 0 });
    const broken = look({ containers: [container(), done], pageFault: 'the page answers 502' });
    assert.equal(codeAfter(...times(5, broken)), 'release_page_broken');
    const failed = { ...broken, containers: [container(), { ...done, exitCode: 1 }] };
    assert.equal(codeAfter(...times(5, failed)), undefined);
  });

  test('is not judged by its page while a person has stopped a service', () => {
    const stopped = look({ containers: [container({ state: 'exited' })], pageFault: 'the page answers 502' });
    assert.equal(codeAfter(quiet, ...times(50, stopped)), undefined);
    const paused = look({ containers: [container({ state: 'paused' })], memory: { backend: 1 } });
    assert.equal(codeAfter(...times(50, paused)), undefined);
  });
});
