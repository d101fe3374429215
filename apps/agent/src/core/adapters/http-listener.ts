import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { ListenAddress, ListenHttp } from '../http-port.ts';

/** For the agent's API. A response may take as long as an update, but a request must arrive in time. */
export const listenForApi: ListenHttp = async (where) => {
  const server = createServer({
    maxHeaderSize: 8192,
    headersTimeout: 10_000,
    requestTimeout: 30_000,
    connectionsCheckingInterval: 5000,
    keepAliveTimeout: 72_000,
  });
  return listening(server, where);
};

/** For the portal's untrusted clients: short headers, and strict time limits. */
export const listenForPortal: ListenHttp = async (where) => {
  const server = createServer({
    maxHeaderSize: 8192,
    // A captive-portal probe may come without a Host header.
    requireHostHeader: false,
    headersTimeout: 10_000,
    requestTimeout: 20_000,
    connectionsCheckingInterval: 5000,
    keepAliveTimeout: 5000,
  });
  server.setTimeout(30_000);
  return listening(server, where);
};

async function listening(server: Server, where: ListenAddress): Promise<Server> {
  server.listen(where);
  await once(server, 'listening');
  return server;
}
