import { setGlobalProxyFromEnv } from 'node:http';
import * as is from './config-values.ts';
import type { Environment, Values } from './env-config.ts';
import { isIP } from './node-tables.ts';
import { isWithinSubnet, readSubnet, type Subnet } from './subnet.ts';

/** The proxies of this network, as everybody writes them: HTTP_PROXY, HTTPS_PROXY, NO_PROXY. Null: there is none. */
export type OutgoingProxy = { http: string | null; https: string | null; except: string | null };

export const noProxy: OutgoingProxy = { http: null, https: null, except: null };

export const proxyVariables = {
  HTTP_PROXY: {
    check: is.proxyUrl,
    secret: true,
    otherwise: 'requests are sent directly',
    help: 'The HTTP proxy for http:// addresses, for networks without another way out; also in lower case. Docker has settings of its own.',
  },
  HTTPS_PROXY: {
    check: is.proxyUrl,
    secret: true,
    otherwise: 'requests are sent directly',
    help: 'The same for https:// addresses.',
  },
  NO_PROXY: {
    check: is.matching(/^[\x21-\x7e]+( *, *[\x21-\x7e]+)*$/, 'be names and addresses, separated by commas'),
    help: 'What is asked directly all the same, like example.org,192.168.0.0/16: names with all below them, addresses, subnets, or * for all. Subnets of IPv6 count for webhooks, notifications and WebDAV alone. This machine and names in .local always are.',
  },
} as const;

/** Programs write the names of proxies in lower case too, and then that one counts. */
export function withProxyNames(env: Environment): Environment {
  const names = ['http_proxy', 'https_proxy', 'no_proxy'];
  const entries = Object.entries(env);
  const lower = entries.filter(([name, value]) => names.includes(name) && (value ?? '').trim() !== '');
  const others = entries.filter(([name]) => !names.includes(name));
  return Object.fromEntries([...others, ...lower.map(([name, value]) => [name.toUpperCase(), value] as const)]);
}

export const toOutgoingProxy = (values: Values<typeof proxyVariables>): OutgoingProxy => ({
  http: values.HTTP_PROXY,
  https: values.HTTPS_PROXY,
  except: values.NO_PROXY,
});

/** This machine and names of multicast DNS are never behind a proxy. */
const always = 'localhost,127.0.0.1,::1,local';

/** What is asked directly: a name with all below it (as curl, Go and Python read it), an address, or a subnet. */
type Exception =
  | { kind: 'all' }
  | { kind: 'host'; host: string; /** Empty: all. */ port: string }
  | { kind: 'subnet'; subnet: Subnet };

const exceptionsOf = ({ except }: OutgoingProxy): Exception[] =>
  `${always},${except ?? ''}`
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map(readException);

function readException(text: string): Exception {
  if (text === '*') return { kind: 'all' };
  const subnet = readSubnet(text);
  if (subnet !== null) return { kind: 'subnet', subnet };
  if (isIP(text) !== 0) return { kind: 'host', host: hostOf(text), port: '' };
  const [, host = text, port = ''] = /^(?:\*?\.)?(.+?)\.?(?::(\d+))?$/.exec(text) ?? [];
  return { kind: 'host', host: hostOf(withoutBrackets(host.toLowerCase())), port };
}

/** As in a URL, where each address of IPv6 has one form. */
const hostOf = (host: string): string =>
  isIP(host) === 6 ? withoutBrackets(URL.parse(`http://[${host}]`)?.hostname ?? host) : host;

const withoutBrackets = (host: string): string => host.replace(/^\[|\]$/g, '');
const isSecure = ({ protocol }: URL): boolean => protocol === 'https:' || protocol === 'wss:';

/** The proxy that `url` is asked through; null: it is asked directly. */
export function proxyFor(url: URL, proxy: OutgoingProxy): string | null {
  const named = isSecure(url) ? proxy.https : proxy.http;
  return exceptionsOf(proxy).some((exception) => isMeant(exception, url)) ? null : named;
}

function isMeant(exception: Exception, url: URL): boolean {
  const host = withoutBrackets(url.hostname).replace(/\.$/, '');
  switch (exception.kind) {
    case 'all':
      return true;
    case 'subnet':
      return isWithinSubnet(exception.subnet, host);
    case 'host': {
      const isHost = host === exception.host || (isIP(host) === 0 && host.endsWith(`.${exception.host}`));
      const port = url.port === '' ? String(isSecure(url) ? 443 : 80) : url.port;
      return isHost && (exception.port === '' || exception.port === port);
    }
  }
}

/** The same for the agents of `node:http` and `node:https`, which know neither what is below a name nor subnets, and no ranges of IPv6. */
function directHosts(proxy: OutgoingProxy): string {
  const written = exceptionsOf(proxy).flatMap((exception): string[] => {
    switch (exception.kind) {
      case 'all':
        return ['*'];
      case 'subnet':
        return exception.subnet.range === null ? [] : [exception.subnet.range];
      case 'host': {
        const { host, port } = exception;
        const end = port === '' ? '' : `:${port}`;
        if (isIP(host) !== 0) return [`${host}${end}`, `[${host}]${end}`];
        return [`${host}${end}`, `*.${host}${end}`];
      }
    }
  });
  return written.join(',');
}

/** The host that this machine must find by itself to ask `url`: behind a proxy, that of the proxy. */
export const hostToFind = (url: URL, proxy: OutgoingProxy): string => new URL(proxyFor(url, proxy) ?? url).hostname;

const hasProxy = ({ http, https }: OutgoingProxy): boolean => http !== null || https !== null;

/**
 * From now on `fetch` and the global agents of `node:http` and `node:https` send every request of this process through the proxy that is
 * named for it.
 * @returns undoes that.
 */
export function useOutgoingProxy(proxy: OutgoingProxy): () => void {
  const { http, https } = proxy;
  if (!hasProxy(proxy)) return () => undefined;
  return setGlobalProxyFromEnv({
    ...(http === null ? {} : { HTTP_PROXY: http }),
    ...(https === null ? {} : { HTTPS_PROXY: https }),
    NO_PROXY: directHosts(proxy),
  });
}
