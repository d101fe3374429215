import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ListenHttp } from '../core/hotspot-ports.ts';

const maxHeaderBytes = 8192;
const maxConnections = 64;

/** A small HTTP server for untrusted clients: few connections, short headers, and strict time limits. */
export const listenForPortal: ListenHttp = async (where) => {
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    // A captive-portal probe may come without a Host header.
    requireHostHeader: false,
    headersTimeout: 10_000,
    requestTimeout: 20_000,
    connectionsCheckingInterval: 5000,
    keepAliveTimeout: 5000,
  });
  server.maxConnections = maxConnections;
  server.setTimeout(30_000);
  server.listen(where);
  await once(server, 'listening');
  return server;
};
