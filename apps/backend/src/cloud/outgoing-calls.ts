import { EventEmitter } from 'node:events';
import {
  createJSONRPCErrorResponse,
  createJSONRPCRequest,
  type JSONRPCRequest,
  type JSONRPCResponse,
} from 'json-rpc-2.0';
import { rpcErrors } from '@station/protocol/cloud-rpc';
import { RpcError } from './rpc-error.ts';

export type OutgoingCalls = {
  /** @throws (rejects) RpcError: could not be sent, refused, not answered in time, or {@link OutgoingCalls.end}. */
  call(method: string, params: unknown, timeoutMs: number): Promise<unknown>;
  /** Never throws, whatever it is. An answer that nobody waits for, or no longer, is nothing. */
  receive(response: JSONRPCResponse): void;
  /** Rejects what waits for an answer. */
  end(): void;
};

const sweepEveryMs = 250;

/** Any property key can name an event; the types know of two kinds only. Of a number no text is made, and none is kept. */
const nameOf = (id: number): string => id as unknown as string;

/**
 * Calls that wait for their answers, each under an id of its own, which is the name of an event. `JSONRPCClient` of json-rpc-2.0 would do it too,
 * with three times the garbage for each call: the slowest calls were those that waited for its collection (`npm run bench -- rpc`).
 * @param send hands a request over. @throws RpcError when it cannot be sent.
 */
export function createOutgoingCalls(send: (request: JSONRPCRequest) => void): OutgoingCalls {
  const answers = new EventEmitter<Record<string, [JSONRPCResponse]>>();
  /** By id, milliseconds of the monotonic clock. No Map: one that is used so much holds on to what was in it long ago. */
  const deadlines: Record<number, number> = {};
  let lastId = 0;
  let timer: NodeJS.Timeout | undefined;
  const fail = (id: number, code: number, message: string): void =>
    void answers.emit(nameOf(id), createJSONRPCErrorResponse(id, code, message));
  // One timer for all calls instead of one for each.
  const sweep = (): void => {
    const now = performance.now();
    const waiting = Object.entries(deadlines);
    for (const [id, at] of waiting) if (at <= now) fail(Number(id), rpcErrors.failed, 'It was not answered in time.');
    if (waiting.length === 0) stop();
  };
  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
  };
  return {
    call: (method, params, timeoutMs) =>
      new Promise((resolve, reject) => {
        const id = ++lastId;
        const name = nameOf(id);
        answers.on(name, ({ result, error }: JSONRPCResponse) => {
          answers.removeAllListeners(name);
          delete deadlines[id];
          // JSON-RPC 1.0 says `"error": null` of a call that went well, and some libraries still do. The types do not know what really comes.
          if ((error as unknown) == null) resolve(result);
          else reject(refusalOf(error));
        });
        deadlines[id] = performance.now() + timeoutMs;
        timer ??= setInterval(sweep, sweepEveryMs).unref();
        try {
          send(createJSONRPCRequest(id, method, params));
        } catch (error) {
          if (!(error instanceof RpcError)) throw error;
          fail(id, error.code, error.message);
        }
      }),
    receive: (response) => {
      // Its ids are numbers: what else the other side makes up is not to become the name of an event.
      if (typeof response.id === 'number') answers.emit(nameOf(response.id), response);
    },
    end: () => {
      stop();
      for (const id of Object.keys(deadlines)) fail(Number(id), rpcErrors.failed, 'The connection ended.');
    },
  };
}

/** Whatever the other side made of it. */
function refusalOf(error: unknown): RpcError {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return typeof message === 'string' && Number.isInteger(code)
    ? new RpcError(code as number, message)
    : new RpcError(rpcErrors.failed, 'It was answered with an error that is none.');
}
