// A program: only the backend's broker library. Prints its port.
import { createServer, type AddressInfo } from 'node:net';
import { Aedes } from 'aedes';
import { answerRequests } from './pinned.ts';

const broker = await Aedes.createBroker();
const server = createServer((socket) => void broker.handle(socket));
const listening = new Promise<number>((resolve) => {
  server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
});
/** @returns {number} the broker's port. */
answerRequests(() => listening);
