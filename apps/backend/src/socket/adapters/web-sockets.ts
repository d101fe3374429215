import websocket from '@fastify/websocket';
import type { FastifyInstance } from 'fastify';
import * as ws from 'ws';

/**
 * Routes of this server may have a `wsHandler` from now on.
 * @param options.maxMessageBytes a larger message is answered with close 1009 by the library.
 * @param options.onClosing the server closes: ends the connections. @returns called when all have ended.
 */
export async function acceptWebSockets(
  app: FastifyInstance,
  { maxMessageBytes, onClosing }: { maxMessageBytes: number; onClosing: () => () => void },
): Promise<void> {
  await app.register(websocket, {
    options: { maxPayload: maxMessageBytes, perMessageDeflate: false },
    // Its own would end the connection at once, before the close frame is read.
    errorHandler: (_error, socket) => socket.close(internalErrorCode),
    preClose: (done) => {
      const ended = onClosing();
      app.websocketServer.close(() => {
        ended();
        done();
      });
    },
  });
}

/** RFC 6455, section 7.4.1. */
const internalErrorCode = 1011;

/** Public in `ws`, but not in its types. */
type Framing = { Sender: { frame(payload: Buffer, options: { fin: boolean; opcode: number }): Buffer[] } };
const { Sender } = ws as unknown as Framing;
/** RFC 6455, section 5.2. */
const textOpcode = 1;

/**
 * Unmasked, unfragmented text frames, one after the other: one write sends them all, and the same bytes serve any number of clients.
 */
export const textFrames = (messages: readonly { text: string }[]): Buffer =>
  Buffer.concat(messages.flatMap(({ text }) => Sender.frame(Buffer.from(text), { fin: true, opcode: textOpcode })));
