import type { ClientRequest, IncomingMessage } from 'node:http';

/**
 * The head of the answer to a request; later faults of the request are those of the body.
 * @throws (rejects) the fault of the request, also when the connection ends without an answer: Node emits none when a server switches to another protocol
 * unasked.
 */
export function responseOf(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    request.on('error', reject);
    request.once('close', () => reject(new Error('the server ended the connection without an answer')));
  });
}
