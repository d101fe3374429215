import type { Clock } from '@station/kit/clock';
import { after } from '@station/kit/timers';
import { type GatewayBroker, passingMs } from '../core/foreign-devices-port.ts';
import type { BrokerAccess } from './adapters/mqtt-client.ts';
import type { BrokerLink } from './broker-link.ts';
import type { BrokerLogins } from './broker-logins.ts';

type GatewayBrokerParts = {
  link: Pick<BrokerLink, 'addresses' | 'publish' | 'disconnect' | 'forget' | 'isConnected' | 'onFiltersChanged'>;
  logins: Pick<BrokerLogins, 'addSystem' | 'removeSystem' | 'isKept'> | null;
  inlet: Pick<GatewayBroker, 'receive' | 'hear'>;
  /** Null: the broker inside the backend. */
  external: (BrokerAccess & { stationId: string; clock: Clock }) | null;
};

const questionExpiresInMs = 60_000;

/** How other systems use the broker. */
export async function openGatewayBroker(
  opened: AsyncDisposableStack,
  parts: GatewayBrokerParts,
): Promise<GatewayBroker> {
  const { link, logins, inlet, external } = parts;
  return {
    ...inlet,
    ask: ({ topic, payload }) => {
      // It would say it by itself, later.
      link.publish(topic, payload, questionExpiresInMs).catch(() => undefined);
    },
    onFiltersChanged: () => link.onFiltersChanged?.(),
    addLogin: async (login) => {
      link.disconnect(login.login);
      return link.addresses.length > 0 || ((await logins?.addSystem(login)) ?? false);
    },
    removeLogin: async (login) => {
      link.disconnect(login.login);
      await link.forget?.(login.login);
      await logins?.removeSystem(login);
    },
    ...(external === null ? inside(link) : await outside(opened, external, logins)),
  };
}

type Links = Pick<GatewayBroker, 'openLink' | 'listen'>;

/** It needs no connection, and brings what arrives with the messages of gateways. */
const inside = (link: GatewayBrokerParts['link']): Links => ({
  openLink: ({ login, onConnected }) => {
    const connected = after(0, onConnected);
    return {
      publish: (topic, payload, isRetained) => link.publish(topic, payload, isRetained ? null : passingMs),
      isHeard: () => link.isConnected?.(login) ?? null,
      [Symbol.asyncDispose]: async () => connected[Symbol.dispose](),
    };
  },
  listen: () => undefined,
});

async function outside(
  opened: AsyncDisposableStack,
  external: NonNullable<GatewayBrokerParts['external']>,
  logins: GatewayBrokerParts['logins'],
): Promise<Links> {
  const { connectSystemLink } = await import('./system-link.ts');
  const { createListening } = await import('./listening.ts');
  const listening = opened.use(createListening(external));
  return {
    openLink: (options) => connectSystemLink({ ...external, ...options }),
    listen: (...what) => {
      // Where the station makes the logins, it knows everybody.
      if (logins === null || logins.isKept() === false) listening.listen(...what);
    },
  };
}
