import { connect } from 'node:net';
import { nodeDisk, readText } from '@station/kit/durable-files';
import type { Reachability } from '../wifi-ports.ts';
import { sendRequest } from '../../core/adapters/http-request.ts';

/**
 * The kernel keeps an absent neighbour as known for 5 s after traffic to it (`delay_first_probe_time`) and for three probes of 1 s
 * (`ucast_solicit`, `retrans_time_ms`; arp(7)): an earlier read would still show it as complete.
 */
const gatewayMs = 9000;
const internetMs = 8000;
/** Ports that routers answer on (DNS and web), even if only with a refusal. */
const usualPorts = [53, 80, 443];

/**
 * What the station can reach. A gateway is alive when it accepts or refuses a TCP connection, or when the kernel has its hardware
 * address after the attempt. The internet is reachable when one small request gets any answer, by http except a redirect to another host.
 * @param options.internetUrl null: no request; the best result is then `local` (the gateway is alive).
 * @param options.arpFile the kernel's neighbour table (proc(5), /proc/net/arp).
 */
export function createReachability(options: {
  internetUrl: URL | null;
  arpFile?: string;
  ports?: readonly number[];
  gatewayMs?: number;
  internetMs?: number;
}): Reachability {
  const { internetUrl, arpFile = '/proc/net/arp', ports = usualPorts } = options;
  return {
    probe: async (gateway, signal, { isOnly } = { isOnly: true }) => {
      signal.throwIfAborted();
      const done = new AbortController();
      const bounded = (ms: number) => AbortSignal.any([signal, done.signal, AbortSignal.timeout(ms)]);
      const alive =
        gateway === null ? Promise.resolve(false) : isAlive(gateway, bounded(options.gatewayMs ?? gatewayMs));
      try {
        const internet =
          internetUrl && isOnly ? await askInternet(internetUrl, bounded(options.internetMs ?? internetMs)) : 'none';
        signal.throwIfAborted();
        if (internet !== 'none') return internet;
        const isLocal = await alive;
        signal.throwIfAborted();
        return isLocal ? 'local' : 'none';
      } finally {
        done.abort(new Error('decided'));
        await alive;
      }
    },
  };

  /** Never rejects. */
  async function isAlive(gateway: string, signal: AbortSignal): Promise<boolean> {
    const answers = ports.map((port) => answersTcp(gateway, port, signal));
    const isAnswering = await new Promise<boolean>((resolve) => {
      for (const answer of answers) void answer.then((yes) => (yes ? resolve(true) : undefined));
      void Promise.all(answers).then(() => resolve(false));
    });
    return isAnswering || hasAddress((await readText(nodeDisk, arpFile).catch(() => null)) ?? '', gateway);
  }
}

/** True when the other end accepts or refuses; false when nothing answers until the signal aborts. */
function answersTcp(host: string, port: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const ended = new AbortController();
    const end = (answer: boolean): void => {
      ended.abort();
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true));
    socket.on('error', (error: NodeJS.ErrnoException) => end(error.code === 'ECONNREFUSED'));
    if (signal.aborted) end(false);
    else signal.addEventListener('abort', () => end(false), { once: true, signal: ended.signal });
  });
}

/** ATF_COM of <linux/if_arp.h>: the hardware address is known. */
const complete = 0x2;

function hasAddress(table: string, ip: string): boolean {
  return table.split('\n').some((line) => {
    const [address, , flags, hardware] = line.trim().split(/\s+/);
    return address === ip && (Number(flags) & complete) !== 0 && hardware !== '00:00:00:00:00:00';
  });
}

/** Network Authentication Required (RFC 6585, section 6). */
const loginNeeded = 511;

async function askInternet(url: URL, signal: AbortSignal): Promise<'full' | 'portal' | 'none'> {
  try {
    const { status, headers, body } = await sendRequest(url, { signal, headers: { 'cache-control': 'no-cache' } });
    body.destroy();
    // A portal has no certificate for that host. Many hosts send who asks for their root elsewhere, to their `www` or their own page.
    if (url.protocol === 'https:') return 'full';
    if (status === loginNeeded) return 'portal';
    const { location } = headers;
    const isRedirect = status >= 300 && status < 400 && location !== undefined;
    if (!isRedirect || !URL.canParse(location, url)) return 'full';
    return new URL(location, url).hostname === url.hostname ? 'full' : 'portal';
  } catch {
    return 'none';
  }
}
