import {
  createJSONRPCErrorResponse,
  createJSONRPCNotification,
  createJSONRPCRequest,
  createJSONRPCSuccessResponse,
  isJSONRPCID,
  isJSONRPCRequest,
  isJSONRPCResponse,
  JSONRPCClient,
  type JSONRPCRequest,
  type JSONRPCResponse,
} from 'json-rpc-2.0';
import { Compile, type Validator } from 'typebox/compile';
import type { TSchema } from 'typebox';
import { cloudMessages, type CloudMessage } from '@station/protocol/cloud-messages';
import { maxBatchCalls, rpcErrors } from '@station/protocol/cloud-rpc';
import { describeError } from '@station/kit/station-error';
import { fitsFrame, frameOfAnswers } from './frames.ts';
import { findUnstorable, mayBeUnstorable } from '../store/storable-text.ts';

/** A refusal with a code of the protocol; its message goes to the caller. */
export class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
  }
}

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
  onMessage(message: CloudMessage): void;
  onIgnored(reason: IgnoredReason): void;
  onFault(where: string, message: string): void;
};

/** JSON-RPC 2.0 both ways over frames, with the plain messages beside it (contracts, section 12). One a connection. */
export type Peer = {
  receive(text: string | null): void;
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
  let lastId = 0;
  const send = (payload: unknown): void => {
    const text = JSON.stringify(payload);
    if (!fitsFrame(text)) throw new RpcError(rpcErrors.failed, 'It is larger than a frame may be.');
    if (!isClosed) parts.send(text);
  };
  const sendAnswers = (answers: readonly JSONRPCResponse[], isBatch: boolean): void => {
    if (!isClosed && answers.length > 0) parts.send(frameOfAnswers(answers, isBatch));
  };
  const client = new JSONRPCClient(async (request: unknown) => send(request));
  const deadlines = createDeadlines((id) => {
    client.receive(createJSONRPCErrorResponse(id, rpcErrors.failed, 'It was not answered in time.'));
  });
  const checks = new Map<string, Validator>();
  for (const [name, { params }] of Object.entries(methods)) checks.set(name, Compile(params));

  const perform = async ({ method: name, id, params: given }: JSONRPCRequest): Promise<JSONRPCResponse> => {
    const check = checks.get(name);
    const method = methods[name];
    if (check === undefined || method === undefined) {
      throw new RpcError(rpcErrors.unknownMethod, 'There is no such method.');
    }
    // Left out they are the same as empty (JSON-RPC 2.0, section 4.2).
    const params: unknown = given ?? {};
    if (!check.Check(params)) throw new RpcError(rpcErrors.badParams, faultsOf(check, params));
    return createJSONRPCSuccessResponse(id ?? null, (await method.run(params as never, id)) ?? null);
  };
  const failure = (id: CallId, error: unknown): JSONRPCResponse => {
    if (error instanceof RpcError) return createJSONRPCErrorResponse(id ?? null, error.code, error.message);
    parts.onFault('a call of the cloud', describeError(error));
    const message = 'Something went wrong at the station. It was written to its log.';
    return createJSONRPCErrorResponse(id ?? null, rpcErrors.internal, message);
  };

  /** @returns null for what asks for no answer. */
  const answer = async (request: unknown): Promise<JSONRPCResponse | null> => {
    if (!isObject(request) || !isJSONRPCRequest(request) || typeof request.method !== 'string') {
      return refusal(request, rpcErrors.invalidRequest, 'This is no request.');
    }
    const { id } = request;
    if (id !== undefined && !isJSONRPCID(id)) return refusal(null, rpcErrors.invalidRequest, 'The id is no id.');
    const response = await respond(request);
    return id === undefined ? null : response;
  };
  const respond = async (request: JSONRPCRequest): Promise<JSONRPCResponse> => {
    if (!parts.isAuthenticated()) {
      return refusal(request, rpcErrors.notAuthenticated, 'The station is not authenticated.');
    }
    if (running >= maxCalls) return refusal(request, rpcErrors.busy, 'Too many calls are under way.');
    running += 1;
    try {
      return await perform(request);
    } catch (error) {
      return failure(request.id, error);
    } finally {
      running -= 1;
    }
  };
  const answerBatch = async (requests: readonly unknown[]): Promise<void> => {
    if (requests.length > maxBatchCalls) {
      const message = `A batch has at most ${maxBatchCalls} calls.`;
      return sendAnswers([refusal(null, rpcErrors.invalidRequest, message)], false);
    }
    const answers = await Promise.all(requests.map(answer));
    sendAnswers(
      answers.filter((one) => one !== null),
      true,
    );
  };
  const guarded = (work: Promise<void>): void => {
    work.catch((error: unknown) => parts.onFault('answering the cloud', describeError(error)));
  };

  /** Text that not every database can keep goes no further. */
  const refuseUnstorable = (frame: unknown): void => {
    if (!isObject(frame) || frame['jsonrpc'] !== '2.0' || frame['id'] === undefined) return onIgnored('bad_shape');
    const code = parts.isAuthenticated() ? rpcErrors.badParams : rpcErrors.notAuthenticated;
    const message = 'It holds text that cannot be kept (U+0000, half a surrogate pair).';
    sendAnswers([refusal(frame, code, message)], false);
  };
  const receiveObject = (frame: Record<string, unknown>): void => {
    if (frame['jsonrpc'] === '2.0') {
      if (isJSONRPCResponse(frame)) {
        client.receive(frame);
      } else {
        guarded(answer(frame).then((response) => sendAnswers(response === null ? [] : [response], false)));
      }
      return;
    }
    const { type } = frame;
    if (typeof type !== 'string' || !Object.hasOwn(messageChecks, type)) return onIgnored('unknown');
    if (!messageChecks[type]?.Check(frame)) return onIgnored('bad_shape');
    parts.onMessage(frame as unknown as CloudMessage);
  };

  return {
    receive: (text) => {
      if (isClosed) return;
      if (text === null) return onIgnored('binary');
      let frame: unknown;
      try {
        frame = JSON.parse(text);
      } catch {
        return onIgnored('not_json');
      }
      if (mayBeUnstorable(text) && findUnstorable(frame) !== null) return refuseUnstorable(frame);
      if (Array.isArray(frame)) {
        // Without a single item of the protocol it is no batch, and nobody waits for an answer.
        const isBatch = frame.some((item) => isObject(item) && item['jsonrpc'] === '2.0');
        if (!isBatch) return onIgnored('unknown');
        const requests: unknown[] = [];
        for (const item of frame as unknown[]) {
          if (isObject(item) && isJSONRPCResponse(item)) client.receive(item);
          else requests.push(item);
        }
        if (requests.length > 0) guarded(answerBatch(requests));
        return;
      }
      if (!isObject(frame)) return onIgnored('unknown');
      receiveObject(frame);
    },
    notify: (method, params) => send(createJSONRPCNotification(method, params)),
    call: async (method, params, timeoutMs) => {
      const id = ++lastId;
      deadlines.set(id, timeoutMs);
      const response = await client.requestAdvanced(createJSONRPCRequest(id, method, params));
      deadlines.clear(id);
      if (response.error !== undefined) throw new RpcError(response.error.code, response.error.message);
      return response.result as unknown;
    },
    close: () => {
      isClosed = true;
      deadlines.end();
      client.rejectAllPendingRequests('The connection ended.');
    },
  };
}

function faultsOf(check: Validator, params: unknown): string {
  const faults = check.Errors(params).map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
  return `The parameters are not valid: ${faults.slice(0, 5).join('; ')}`.slice(0, 500);
}

const sweepEveryMs = 250;

/** One timer for all calls instead of one for each. */
function createDeadlines(onPassed: (id: number) => void) {
  const deadlines = new Map<number, number>();
  let timer: NodeJS.Timeout | undefined;
  const sweep = (): void => {
    const now = performance.now();
    for (const [id, at] of deadlines) {
      if (at > now) continue;
      deadlines.delete(id);
      onPassed(id);
    }
    if (deadlines.size === 0) end();
  };
  const end = (): void => {
    clearInterval(timer);
    timer = undefined;
  };
  return {
    set: (id: number, ms: number) => {
      deadlines.set(id, performance.now() + ms);
      timer ??= setInterval(sweep, sweepEveryMs).unref();
    },
    clear: (id: number) => void deadlines.delete(id),
    end,
  };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function refusal(request: unknown, code: number, message: string): JSONRPCResponse {
  const id = isObject(request) && isJSONRPCID(request['id']) ? request['id'] : null;
  return createJSONRPCErrorResponse(id, code, message);
}
