import { createGuardedHttp, type GuardedHttpOptions } from '../../core/adapters/guarded-http.ts';

type WebhookCall = {
  url: string;
  method: 'POST' | 'GET';
  /** Sent as JSON; null: no body. */
  body: Readonly<Record<string, unknown>> | null;
  signal: AbortSignal;
};

export type WebhookAnswer =
  | { kind: 'answered'; statusCode: number }
  /** In English, for people; without path, query and login of the address. */
  | { kind: 'failed'; reason: string };

export type WebhookClient = AsyncDisposable & {
  /** @throws (rejects) the signal's reason when it aborts; all other failures are in the answer. */
  call(call: WebhookCall): Promise<WebhookAnswer>;
};

/**
 * Calls addresses from automations.
 * @param options as `createGuardedHttp` takes them.
 */
export function createWebhookClient(options: GuardedHttpOptions): WebhookClient {
  const http = createGuardedHttp(options);
  return {
    call: async ({ url, method, body, signal }) => {
      const headers: Record<string, string> = body === null ? {} : { 'content-type': 'application/json' };
      const text = body === null ? null : JSON.stringify(body);
      const answer = await http.send({ url, method, headers, body: text, signal });
      if (answer.kind === 'failed') return { kind: 'failed', reason: answer.reason };
      return { kind: 'answered', statusCode: answer.statusCode };
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}
