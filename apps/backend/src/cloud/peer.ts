import { setImmediate as turn } from 'node:timers/promises';
import {
  createJSONRPCErrorResponse,
  createJSONRPCNotification,
  createJSONRPCSuccessResponse,
  isJSONRPCID,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCID,
  type JSONRPCRequest,
  type JSONRPCResponse,
} from 'json-rpc-2.0';
import { Compile, type Validator } from 'typebox/compile';
import type { TSchema } from 'typebox';
import { cloudMessages, type CloudMessage } from '@station/protocol/cloud-messages';
import { maxBatchCalls, rpcErrors } from '@station/protocol/cloud-rpc';
import { describeError } from '@station/kit/station-error';
import { createAnswersFrame, fitsFrame, frameOfOne, noRoom } from './frames.ts';
import { createOutgoingCalls } from './outgoing-calls.ts';
import { RpcError } from './rpc-error.ts';
import { findUnstorable, mayBeUnstorable } from '../core/storable-text.ts';

export type CallId = string | number | null | undefined;
export type RpcMethod = {
  params: TSchema;
  /** @param id of the call; undefined when the caller wants no answer. */
  run(params: never, id: CallId): Promise<unknown>;
};

export type IgnoredReason = 'binary' | 'not_json' | 'unknown' | 'bad_shape' | 'too_early';

export type PeerParts = {
  /** Hands a frame over; whoever gives it sees to a backlog. */
  send(text: string): void;
  methods: Readonly<Record<string, RpcMethod>>;
  /** Calls are answered only while this holds. */
  isAuthenticated(): boolean;
  /** @returns what the next frame has to wait for; must not reject. */
  onMessage(message: CloudMessage): Promise<void> | undefined;
  /** Before the first of so many calls in one frame is answered. */
  onBatch(calls: number): void;
  onIgnored(reason: IgnoredReason): void;
  onFault(where: string, message: string): void;
};

/** JSON-RPC 2.0 both ways over frames, with the plain messages beside it (contracts, section 12). One a connection. */
export type Peer = {
  /** @returns what the next frame is to wait for: the last call of a batch has begun, a message was obeyed. Does not reject. */
  receive(text: string | null): Promise<void> | undefined;
  /** @throws RpcError when it is larger than a frame may be. */
  notify(method: string, params: unknown): void;
  /** @throws (rejects) RpcError: too large for a frame, refused, not answered in time, or the connection ended. */
  call(method: string, params: unknown, timeoutMs: number): Promise<unknown>;
  /** Rejects what waits for an answer; what is under way for the other side is finished and not answered. */
  close(): void;
};

/** Calls under way at once; a command waits for the broker for seconds. */
const maxCalls = 256;
const messageChecks: Readonly<Record<string, Validator>> = Object.fromEntries(
  Object.entries(cloudMessages).map(([type, schema]) => [type, Compile(schema as TSchema)]),
);

export function createPeer(parts: PeerParts): Peer {
  const { methods, onIgnored } = parts;
  let isClosed = false;
  let running = 0;
  const send = (payload: unknown): void => {
    const text = JSON.stringify(payload);
    if (!fitsFrame(text)) throw new RpcError(rpcErrors.failed, 'It is larger than a frame may be.');
    if (!isClosed) parts.send(text);
  };
  const sendAnswer = (answer: JSONRPCResponse): void => {
    if (!isClosed) parts.send(frameOfOne(answer));
  };
  const calls = createOutgoingCalls((request) => {
    if (isClosed) throw new RpcError(rpcErrors.failed, 'The connection ended.');
    send(request);
  });
  const checks = new Map<string, Validator>();
  for (const [name, { params }] of Object.entries(methods)) checks.set(name, Compile(params));

  const perform = ({ method: name, id, params: given }: JSONRPCRequest): Promise<unknown> => {
    const check = checks.get(name);
    const method = methods[name];
    if (check === undefined || method === undefined) {
      throw new RpcError(rpcErrors.unknownMethod, 'There is no such method.');
    }
    // Left out they are the same as empty (JSON-RPC 2.0, section 4.2).
    const params: unknown = given ?? {};
    if (!check.Check(params)) throw new RpcError(rpcErrors.badParams, faultsOf(check, params));
    return method.run(params as never, id);
  };
  const failure = (request: JSONRPCRequest, error: unknown): JSONRPCResponse => {
    if (error instanceof RpcError) return refusal(request, error.code, error.message);
    parts.onFault('a call of the cloud', describeError(error));
    return refusal(request, rpcErrors.internal, 'Something went wrong at the station. It was written to its log.');
  };
  /** @returns null for a call that may be tried. */
  const refuse = (request: JSONRPCRequest): JSONRPCResponse | null => {
    if (!parts.isAuthenticated()) {
      return refusal(request, rpcErrors.notAuthenticated, 'The station is not authenticated.');
    }
    return running < maxCalls ? null : refusal(request, rpcErrors.busy, 'Too many calls are under way.');
  };
  /** @param reply is not called for what asks for no answer. */
  const answer = async (request: unknown, reply: (answer: JSONRPCResponse) => void): Promise<void> => {
    if (!isObject(request) || !isJSONRPCRequest(request) || typeof request.method !== 'string') {
      return reply(refusal(request, rpcErrors.invalidRequest, 'This is no request.'));
    }
    const { id } = request;
    if (id !== undefined && !isJSONRPCID(id)) {
      return reply(refusal(null, rpcErrors.invalidRequest, 'The id is no id.'));
    }
    let response = refuse(request);
    if (response === null) {
      running += 1;
      try {
        response = createJSONRPCSuccessResponse(id ?? null, (await perform(request)) ?? null);
      } catch (error) {
        response = failure(request, error);
      } finally {
        running -= 1;
      }
    }
    if (id !== undefined) reply(response);
  };
  const onFault = (error: unknown): void => parts.onFault('answering the cloud', describeError(error));
  /** One call a turn of the event loop: whoever is at home is served in between. */
  const answerBatch = async (requests: readonly unknown[]): Promise<void> => {
    if (requests.length > maxBatchCalls) {
      const message = `A batch has at most ${maxBatchCalls} calls.`;
      return sendAnswer(refusal(null, rpcErrors.invalidRequest, message));
    }
    const frame = createAnswersFrame();
    const underWay: Promise<void>[] = [];
    for (const [slot, request] of requests.entries()) {
      if (slot > 0) await turn();
      if (isClosed) return;
      const { method, id } = namesOf(request);
      if (id !== undefined && frame.isFullFor(method)) frame.add(slot, noRoom(id), method);
      else underWay.push(answer(request, (one) => frame.add(slot, one, method)).catch(onFault));
    }
    const finish = async (): Promise<void> => {
      await Promise.all(underWay);
      const text = frame.text();
      if (!isClosed && text !== null) parts.send(text);
    };
    finish().catch(onFault);
  };
  const receiveBatch = (frame: readonly unknown[]): Promise<void> | undefined => {
    // Without a single item of the protocol it is no batch, and nobody waits for an answer.
    const isBatch = frame.some((item) => isObject(item) && item['jsonrpc'] === '2.0');
    if (!isBatch) return void onIgnored('unknown');
    parts.onBatch(Math.min(frame.length, maxBatchCalls));
    const requests: unknown[] = [];
    for (const item of frame) {
      if (isObject(item) && isJSONRPCResponse(item)) calls.receive(item);
      else requests.push(item);
    }
    return requests.length > 0 ? answerBatch(requests).catch(onFault) : undefined;
  };

  /** Text that not every database can keep goes no further. */
  const refuseUnstorable = (frame: unknown): void => {
    if (!isObject(frame) || frame['jsonrpc'] !== '2.0' || frame['id'] === undefined) return onIgnored('bad_shape');
    const code = parts.isAuthenticated() ? rpcErrors.badParams : rpcErrors.notAuthenticated;
    const message = 'It holds text that cannot be kept (U+0000, half a surrogate pair).';
    sendAnswer(refusal(frame, code, message));
  };
  const receiveObject = (frame: Record<string, unknown>): Promise<void> | undefined => {
    if (frame['jsonrpc'] === '2.0') {
      if (isJSONRPCResponse(frame)) {
        calls.receive(frame);
      } else {
        answer(frame, sendAnswer).catch(onFault);
      }
      return undefined;
    }
    const { type } = frame;
    if (typeof type !== 'string' || !Object.hasOwn(messageChecks, type)) return void onIgnored('unknown');
    if (!messageChecks[type]?.Check(frame)) return void onIgnored('bad_shape');
    return parts.onMessage(frame as unknown as CloudMessage);
  };

  return {
    receive: (text) => {
      if (isClosed) return;
      if (text === null) return void onIgnored('binary');
      let frame: unknown;
      try {
        frame = JSON.parse(text);
      } catch {
        return void onIgnored('not_json');
      }
      if (mayBeUnstorable(text) && findUnstorable(frame) !== null) return void refuseUnstorable(frame);
      if (Array.isArray(frame)) return receiveBatch(frame);
      if (!isObject(frame)) return void onIgnored('unknown');
      return receiveObject(frame);
    },
    notify: (method, params) => send(createJSONRPCNotification(method, params)),
    call: calls.call,
    close: () => {
      isClosed = true;
      calls.end();
    },
  };
}

function faultsOf(check: Validator, params: unknown): string {
  const faults = check.Errors(params).map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
  return `The parameters are not valid: ${faults.slice(0, 5).join('; ')}`.slice(0, 500);
}

/** Of a call of a batch; whether it is one, and the id an id, is not looked at yet. */
function namesOf(request: unknown): { method: string; id: JSONRPCID | undefined } {
  if (!isObject(request)) return { method: '', id: undefined };
  const { method, id } = request;
  return { method: typeof method === 'string' ? method : '', id: isJSONRPCID(id) ? id : undefined };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function refusal(request: unknown, code: number, message: string): JSONRPCResponse {
  const id = isObject(request) && isJSONRPCID(request['id']) ? request['id'] : null;
  return createJSONRPCErrorResponse(id, code, message);
}
