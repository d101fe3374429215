import { setGlobalProxyFromEnv } from 'node:http';

/** The proxies of this network, as everybody writes them: HTTP_PROXY, HTTPS_PROXY, NO_PROXY. */
export type OutgoingProxy = { http: string | null; https: string | null; except: string | null };

/** This machine and names of multicast DNS are never behind a proxy. */
const always = 'localhost,127.0.0.1,::1,[::1],.local';

/** From now on every request of this process goes through the proxy that is named for it. @returns undoes that. */
export function useOutgoingProxy({ http, https, except }: OutgoingProxy): () => void {
  if (http === null && https === null) return () => undefined;
  return setGlobalProxyFromEnv({
    ...(http === null ? {} : { HTTP_PROXY: http }),
    ...(https === null ? {} : { HTTPS_PROXY: https }),
    NO_PROXY: except === null ? always : `${always},${except}`,
  });
}
