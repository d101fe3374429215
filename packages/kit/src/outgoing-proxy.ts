import { setGlobalProxyFromEnv } from 'node:http';
import * as is from './config-values.ts';
import type { Environment, Values } from './env-config.ts';

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
    help: 'What is asked directly all the same, like .example.org,192.0.2.9. This machine and names in .local always are.',
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
const always = 'localhost,127.0.0.1,::1,[::1],.local';

/** What is asked directly, separated by commas. */
export const directHosts = ({ except }: OutgoingProxy): string => (except === null ? always : `${always},${except}`);

/** The host that this machine must find by itself to ask `url`: behind a proxy, that of the proxy. */
export function hostToFind({ protocol, hostname }: URL, { http, https }: OutgoingProxy): string {
  const proxy = protocol === 'https:' || protocol === 'wss:' ? https : http;
  return proxy === null ? hostname : new URL(proxy).hostname;
}

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
