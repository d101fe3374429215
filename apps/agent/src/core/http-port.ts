import type { Server } from 'node:http';

/** An address of this machine, where port 0 takes a free one, or the path of a Unix socket. */
export type ListenAddress = { host: string; port: number } | { path: string };

/** Opens an HTTP server. Resolves when it listens. @throws the system's error (EADDRINUSE, …). */
export type ListenHttp = (where: ListenAddress) => Promise<Server>;
