import { nextTurn } from '@station/kit/timers';
import { createJSONRPCErrorResponse, isJSONRPCResponse, type JSONRPCID, type JSONRPCResponse } from 'json-rpc-2.0';
import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { describeError } from '@station/kit/station-error';
import { cloudMessages, maxCloudFrameBytes, type CloudMessage } from '@station/protocol/cloud-messages';
import { maxBatchCalls, rpcErrors } from '@station/protocol/cloud-rpc';
import { ownValue } from '@station/protocol/own-value';
import { findUnstorable, mayBeUnstorable } from '../core/storable-text.ts';
import { createExactNumbers } from './exact-numbers.ts';
import { createRpcServer, isObject, refusal, type RpcServer, type RpcServerParts } from './rpc-server.ts';

export type IgnoredReason = 'binary' | 'not_json' | 'unknown' | 'bad_shape' | 'too_early';

export type PeerParts = RpcServerParts & {
  /** Sends a frame; the caller checks the backlog. */
  send(text: string): void;
  /** @returns a promise that the next frame waits for; must not reject. */
  onMessage(message: CloudMessage): Promise<void> | undefined;
  onIgnored(reason: IgnoredReason): void;
};

/** Routes the frames of one connection: answers JSON-RPC calls, passes on plain messages (contracts, section 12). */
export type Peer = {
  /** @returns a promise that the next frame waits for: the last call of a batch started, or a message was applied. Never rejects. */
  receive(text: string | null): Promise<void> | undefined;
  /** Running calls finish without an answer. */
  close(): void;
};

const messageChecks: Readonly<Record<string, Validator>> = Object.fromEntries(
  Object.entries(cloudMessages).map(([type, schema]) => [type, Compile(schema as TSchema)]),
);

export function createPeer(parts: PeerParts): Peer {
  const { onIgnored } = parts;
  let isClosed = false;
  const answer = createRpcServer(parts);
  const numbers = createExactNumbers();
  const send = (text: string | null): void => {
    if (!isClosed && text !== null) parts.send(numbers.restore(text));
  };
  const onFault = (error: unknown): void => parts.onFault('answering the cloud', describeError(error));
  const receiveCall = (call: unknown): void => {
    answer(call).then((answered) => send(answered && frameOfOne(answered)), onFault);
  };
  const receiveBatch = (batch: readonly unknown[]): Promise<void> | undefined => {
    // Without a valid item it is not a batch, and no caller waits for an answer.
    if (!batch.some(isRpc)) {
      onIgnored('unknown');
      return;
    }
    const calls = batch.filter((item) => !isAnswer(item));
    if (calls.length === 0) return undefined;
    return answerBatch({ calls, answer, send, isClosed: () => isClosed, onFault }).catch(onFault);
  };
  return {
    receive: (text) => {
      if (isClosed) return;
      if (text === null) {
        onIgnored('binary');
        return;
      }
      const frame = numbers.parse(text);
      if (frame === undefined) {
        onIgnored('not_json');
        return;
      }
      if (mayBeUnstorable(text) && findUnstorable(frame) !== null) {
        const refused = refusalOfUnstorable(frame, parts.isAuthenticated());
        if (refused === null) onIgnored('bad_shape');
        else void send(frameOfOne(refused));
        return;
      }
      if (Array.isArray(frame)) return receiveBatch(frame);
      if (!isObject(frame)) {
        onIgnored('unknown');
        return;
      }
      // The station calls no methods, so answers are ignored.
      if (isRpc(frame)) {
        if (!isAnswer(frame)) receiveCall(frame);
        return;
      }
      return receivePlain(frame, parts);
    },
    close: () => {
      isClosed = true;
    },
  };
}

/** Starts one call in each turn of the event loop, so that local users are served in between. */
async function answerBatch(parts: {
  calls: readonly unknown[];
  answer: RpcServer;
  send(text: string | null): void;
  isClosed(): boolean;
  onFault(error: unknown): void;
}): Promise<void> {
  const { calls, answer, send, onFault } = parts;
  if (calls.length > maxBatchCalls) {
    const message = `A batch has at most ${maxBatchCalls} calls.`;
    return send(frameOfOne(refusal(null, rpcErrors.invalidRequest, message)));
  }
  const resultBytes = maxCloudFrameBytes / 2 / calls.length;
  const underWay: PromiseLike<string | null>[] = [];
  for (const call of calls) {
    if (underWay.length > 0) await nextTurn();
    if (parts.isClosed()) return;
    underWay.push(answer(call).then((one) => one && textWithin(one, resultBytes)));
  }
  // Not awaited: the next frame only waits until the last call has started.
  Promise.all(underWay)
    .then((texts) => send(frameOfMany(texts.filter((text) => text !== null))))
    .catch(onFault);
}

function receivePlain(frame: Record<string, unknown>, { onIgnored, onMessage }: PeerParts): Promise<void> | undefined {
  const { type } = frame;
  if (typeof type !== 'string' || !Object.hasOwn(messageChecks, type)) {
    onIgnored('unknown');
    return;
  }
  const message = type === 'identity_sync' ? withMembers(frame) : frame;
  if (!ownValue(messageChecks, type)?.Check(message)) {
    onIgnored('bad_shape');
    return undefined;
  }
  return onMessage(message as unknown as CloudMessage);
}

/** Some clouds call the list of `identity_sync` `users` (contracts, section 12). */
const withMembers = (frame: Record<string, unknown>): Record<string, unknown> =>
  frame['members'] === undefined ? { ...frame, members: frame['users'] } : frame;

/** Refuses text that a database cannot store. @returns null when no caller waits for an answer. */
function refusalOfUnstorable(frame: unknown, isAuthenticated: boolean): JSONRPCResponse | null {
  if (!isRpc(frame) || frame['id'] === undefined) return null;
  const code = isAuthenticated ? rpcErrors.badParams : rpcErrors.notAuthenticated;
  return refusal(frame, code, 'It holds text that cannot be stored (U+0000, half a surrogate pair).');
}

const isRpc = (frame: unknown): frame is Record<string, unknown> => isObject(frame) && frame['jsonrpc'] === '2.0';
const isAnswer = (frame: unknown): boolean => isRpc(frame) && isJSONRPCResponse(frame);

/** A character of a string is three bytes of UTF-8 at most (a pair of them four). */
const maxBytesACharacter = 3;
const tooLarge = 'The answer would be larger than a frame may be.';

/** Whether the cloud accepts it: the cloud ends the link at a larger frame. */
export const fitsFrame = (text: string): boolean =>
  text.length * maxBytesACharacter <= maxCloudFrameBytes || Buffer.byteLength(text) <= maxCloudFrameBytes;

/** The frame that answers a call; an error with the code `failed` if the answer is too large for a frame. */
function frameOfOne(answer: JSONRPCResponse): string {
  const text = JSON.stringify(answer);
  if (fitsFrame(text)) return text;
  const instead = failure(answer.id, rpcErrors.failed);
  return fitsFrame(instead) ? instead : unanswerable();
}

/**
 * An answer in a batch. Half a frame is for the results, in equal parts; the rest for ids and errors. Only calls that change nothing have
 * results that are larger than their part, so none of a command is lost.
 */
function textWithin(answer: JSONRPCResponse, resultBytes: number): string {
  const isTooLarge = answer.result !== undefined && Buffer.byteLength(JSON.stringify(answer.result)) > resultBytes;
  return isTooLarge ? failure(answer.id, rpcErrors.failed) : JSON.stringify(answer);
}

/** The frame that answers a batch; null when nobody waits for an answer. */
function frameOfMany(answers: readonly string[]): string | null {
  if (answers.length === 0) return null;
  const text = `[${answers.join(',')}]`;
  return fitsFrame(text) ? text : unanswerable();
}

/** The ids themselves are too large. */
const unanswerable = (): string => failure(null, rpcErrors.internal);
const failure = (id: JSONRPCID, code: number): string => JSON.stringify(createJSONRPCErrorResponse(id, code, tooLarge));
