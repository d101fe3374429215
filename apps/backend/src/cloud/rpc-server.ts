import { randomUUID } from 'node:crypto';
import {
  createJSONRPCErrorResponse,
  isJSONRPCID,
  isJSONRPCRequest,
  JSONRPCServer,
  type JSONRPCRequest,
  type JSONRPCResponse,
} from 'json-rpc-2.0';
import type { TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';
import { describeError } from '@station/kit/station-error';
import { rpcErrors } from '@station/protocol/cloud-rpc';
import { errorWords } from '@station/protocol/schema-words';

export type CallId = string | number | null | undefined;
export type RpcMethod = {
  params: TSchema;
  /**
   * @param id of the call; undefined when the caller wants no answer.
   * @param connectionId ids mean the same call only on one connection.
   */
  run(params: never, id: CallId, connectionId: string): Promise<unknown>;
};

/** A refusal with a code of the protocol; its message goes to the caller. */
export class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
  }
}

export type RpcServerParts = {
  methods: Readonly<Record<string, RpcMethod>>;
  /** Calls are only answered while this is true. */
  isAuthenticated(): boolean;
  onFault(where: string, message: string): void;
};

/** Answers one call, valid or not. @returns null for a notification. Never rejects. */
export type RpcServer = (call: unknown) => PromiseLike<JSONRPCResponse | null>;

/** Maximum concurrent calls; a command may wait seconds for the broker. */
const maxCalls = 256;

/** The methods behind json-rpc-2.0. Each call needs a log-in, a free slot, and valid parameters. */
export function createRpcServer({ methods, isAuthenticated, onFault }: RpcServerParts): RpcServer {
  const errorListener = (_text: string, error: unknown): void => {
    if (!(error instanceof RpcError)) onFault('a call of the cloud', describeError(error));
  };
  const connectionId = randomUUID();
  const server = new JSONRPCServer<CallId>({ errorListener });
  server.mapErrorToJSONRPCErrorResponse = (id, error: unknown) =>
    error instanceof RpcError
      ? createJSONRPCErrorResponse(id, error.code, error.message)
      : createJSONRPCErrorResponse(id, rpcErrors.internal, 'Something failed at the station; its log says what.');
  for (const [name, method] of Object.entries(methods)) {
    const check = Compile(method.params);
    server.addMethod(name, async (given: unknown, id) => {
      // Omitted parameters count as empty (JSON-RPC 2.0, section 4.2).
      const params: unknown = given ?? {};
      if (!check.Check(params)) throw new RpcError(rpcErrors.badParams, faultsOf(check, method.params, params));
      return method.run(params as never, id, connectionId);
    });
  }
  let running = 0;
  server.applyMiddleware(async (next, request, id) => {
    if (!isAuthenticated()) throw new RpcError(rpcErrors.notAuthenticated, 'The station is not authenticated.');
    if (running >= maxCalls) throw new RpcError(rpcErrors.busy, 'Too many calls are running.');
    running += 1;
    try {
      return await next(request, id);
    } finally {
      running -= 1;
    }
  });
  return async (call) => {
    if (!isCall(call)) return refusal(call, rpcErrors.invalidRequest, 'This is not a request.');
    return server.receive(call, call.id);
  };
}

/** @param call the call, from which the id is taken if there is one. */
export function refusal(call: unknown, code: number, message: string): JSONRPCResponse {
  const id = isObject(call) && isJSONRPCID(call['id']) ? call['id'] : null;
  return createJSONRPCErrorResponse(id, code, message);
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isCall = (call: unknown): call is JSONRPCRequest =>
  isObject(call) &&
  isJSONRPCRequest(call) &&
  typeof call.method === 'string' &&
  (call.id === undefined || isJSONRPCID(call.id));

function faultsOf(check: Validator, schema: TSchema, params: unknown): string {
  const faults = check.Errors(params).map((error) => `${error.instancePath || '/'} ${errorWords(schema, error)}`);
  return `The parameters are not valid: ${faults.slice(0, 5).join('; ')}`.slice(0, 500);
}
