import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What package-lock.json says of a package, as far as npm asks for it. */
export type Manifest = {
  version: string;
  os?: string;
  cpu?: string;
  engines?: Record<string, string>;
  bin?: Record<string, string>;
};

export type NpmPackage = { name: string; manifest: Manifest; tarball: string };

export type NpmRegistry = AsyncDisposable & {
  url: string;
  /** How many of the next downloads of packages are answered with 404. */
  lose(count: number): void;
  /** The next ping gets no answer. */
  ignorePing(): void;
  /** Package → its downloads. */
  downloads: ReadonlyMap<string, number>;
};

/** An npm registry on this machine that has only the given packages, each in one version. */
export async function startNpmRegistry(packages: readonly NpmPackage[]): Promise<NpmRegistry> {
  const downloads = new Map<string, number>();
  let lost = 0;
  let isPingIgnored = false;
  let url = '';
  const answer = async (path: string): Promise<string | Buffer | null> => {
    if (path === '/-/ping') return '{}';
    const found = packages.find(({ name }) => path === `/${name}` || path === `/${name}.tgz`);
    if (found === undefined) return null;
    const { name, manifest, tarball } = found;
    if (path === `/${name}`) {
      const dist = { tarball: `${url}${name}.tgz`, integrity: await integrityOf(tarball) };
      const versions = { [manifest.version]: { name, ...manifest, dist } };
      return JSON.stringify({ name, 'dist-tags': { latest: manifest.version }, versions });
    }
    if (lost > 0) {
      lost -= 1;
      return null;
    }
    downloads.set(name, (downloads.get(name) ?? 0) + 1);
    return readFile(tarball);
  };
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', url).pathname);
    if (path === '/-/ping' && isPingIgnored) {
      isPingIgnored = false;
      return;
    }
    void answer(path).then((body) => {
      response.statusCode = body === null ? 404 : 200;
      response.end(body ?? '{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    ignorePing: () => void (isPingIgnored = true),
    lose: (count) => void (lost = count),
    downloads,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** As in package-lock.json. */
export async function integrityOf(file: string): Promise<string> {
  return `sha512-${createHash('sha512')
    .update(await readFile(file))
    .digest('base64')}`;
}
