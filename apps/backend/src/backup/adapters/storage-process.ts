import { createWriteStream } from 'node:fs';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { noProxy, type OutgoingProxy, proxyFor, useOutgoingProxy } from '@station/kit/outgoing-proxy';
import {
  DestinationFault,
  type Storage,
  type StorageCall,
  type StorageCalls,
  type StorageOptions,
  type StorageTarget,
} from '../../core/backup-destination.ts';
import { fileBytes } from './backup-files.ts';
import { findBackendProgram, JobHangsError, JobTooSlowError, runInProcess } from '../../core/adapters/job-process.ts';
import { storageHere } from './storage-here.ts';

/** Work with a storage that may hang, or send what takes all memory. */
export type StorageJob = {
  work: 'storage';
  target: StorageTarget;
  call: StorageCall | 'read';
  given: { path?: string; name?: string };
  /** Certificate authorities of NODE_EXTRA_CA_CERTS: the process has no environment. */
  authorities: string[];
  proxy: OutgoingProxy;
};
type StorageOutcome = { kind: 'done'; answer: unknown } | { kind: 'fault'; reason: DestinationFault['reason'] };

const usual = {
  /** For everything but the transfer of a file. */
  callMs: 60_000,
  /** A server that has everything may still need a moment to answer. */
  silenceMs: 90_000,
};
const transferMs = 10 * 60_000;
/** 32 kB/s, there and back. */
const transferMsPerByte = 2 / 32;
/** A file system that does not answer keeps a process that nobody can end; more of them are not started for so long. */
const pauseMs = 10 * 60_000;
const contentDescriptor = 3;

/** The child's side. Never throws. */
export async function runStorageJob(
  { target, call, given, authorities, proxy }: StorageJob,
  options: StorageOptions,
): Promise<StorageOutcome> {
  const through = target.kind === 'webdav' ? proxyFor(new URL(target.url), proxy) : null;
  useOutgoingProxy({ ...noProxy, http: through, https: through });
  try {
    if (authorities.length > 0) setDefaultCACertificates([...getCACertificates('default'), ...authorities]);
    if (call !== 'read')
      return {
        kind: 'done',
        answer: await storageHere.ask(target, call, given, options),
      };
    const content = await storageHere.read(target, given.name ?? '', options);
    await pipeline(content, createWriteStream('', { fd: contentDescriptor }), { signal: options.signal });
    return { kind: 'done', answer: null };
  } catch (error) {
    return { kind: 'fault', reason: error instanceof DestinationFault ? error.reason : 'failed' };
  }
}

/** Storage in a process of its own for each call, which is killed when it takes too long. */
export function createStorageProcess(proxy: OutgoingProxy, { callMs, silenceMs } = usual): Storage {
  const processes = { proxy, pausedUntil: new Map<string, number>() };
  return {
    ask: async <Call extends StorageCall>(
      target: StorageTarget,
      call: Call,
      given: StorageCalls[Call]['with'],
      options: StorageOptions,
    ) => {
      const isPut = call === 'put';
      const bytes = isPut ? ((await fileBytes((given as { path: string }).path)) ?? 0) : 0;
      const mostMs = isPut ? transferMs + bytes * transferMsPerByte : callMs;
      const limits = { mostMs, mostSilenceMs: isPut ? silenceMs : Infinity, content: null };
      const answer = await runCall(processes, { target, call, given }, { ...options, ...limits });
      return answer as StorageCalls[Call]['answer'];
    },
    read: async (target, name, options): Promise<Readable> => {
      const content = new PassThrough();
      const left = new AbortController();
      content.once('close', () => left.abort());
      const signal = AbortSignal.any([options.signal, left.signal]);
      const work = { target, call: 'read', given: { name } } as const;
      const limits = { mostMs: Infinity, mostSilenceMs: Infinity, content };
      const ended = runCall(processes, work, { ...options, ...limits, signal }).then(
        () => content.end(),
        (error: Error) => content.destroy(error),
      );
      const begun = new Promise<void>((resolve, reject) => {
        content.once('readable', resolve);
        content.once('error', reject);
      });
      await begun;
      void ended;
      return content;
    },
  };
}

type Processes = {
  proxy: OutgoingProxy;
  /** Storage whose process hangs, until this time of `performance.now`. */
  pausedUntil: Map<string, number>;
};

async function runCall(
  { proxy, pausedUntil }: Processes,
  work: Omit<StorageJob, 'work' | 'authorities' | 'proxy'>,
  options: StorageOptions & { mostMs: number; mostSilenceMs: number; content: PassThrough | null },
): Promise<unknown> {
  const { target } = work;
  const job: StorageJob = { ...work, work: 'storage', authorities: getCACertificates('extra'), proxy };
  const key = JSON.stringify(target);
  const gone = target.kind === 'folder' ? 'not_mounted' : 'unreachable';
  if ((pausedUntil.get(key) ?? 0) > performance.now()) throw new DestinationFault(gone);
  const { signal, onProgress = () => undefined, mostMs, mostSilenceMs, content } = options;
  const late = new AbortController();
  const timer = mostMs === Infinity ? undefined : setTimeout(() => late.abort(), mostMs);
  try {
    const outcome = await runInProcess<number, StorageOutcome>(job, {
      program: findBackendProgram(),
      onProgress,
      signal: AbortSignal.any([signal, late.signal]),
      mostSilenceMs: () => mostSilenceMs,
      urgent: { content },
    });
    if (outcome.kind === 'fault') throw new DestinationFault(late.signal.aborted ? gone : outcome.reason);
    return outcome.answer;
  } catch (error) {
    if (error instanceof DestinationFault) throw error;
    if (error instanceof JobHangsError) pausedUntil.set(key, performance.now() + pauseMs);
    const isLate = late.signal.aborted || error instanceof JobTooSlowError || error instanceof JobHangsError;
    throw new DestinationFault(isLate ? gone : 'failed', error);
  } finally {
    clearTimeout(timer);
  }
}
