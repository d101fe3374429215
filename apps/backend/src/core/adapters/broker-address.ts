import { loginOfUrl } from '@station/kit/url-login';
import type { IClientOptions } from 'mqtt';

export type BrokerAddress = Pick<IClientOptions, 'protocol' | 'host' | 'port' | 'username' | 'password'>;

/**
 * An address as MQTT.js takes it in parts: it reads text by `url.parse`, of which Node warns in the log (DEP0169).
 * @param url `mqtt://` or `mqtts://`, which may have a login.
 */
export function brokerAddress(url: string): BrokerAddress {
  const { protocol, hostname, port, username, password } = new URL(url);
  return {
    protocol: protocol === 'mqtts:' ? 'mqtts' : 'mqtt',
    host: hostname.replace(/^\[|\]$/g, ''),
    ...(port === '' ? {} : { port: Number(port) }),
    ...(username === '' ? {} : { username: loginOfUrl(username) }),
    ...(password === '' ? {} : { password: loginOfUrl(password) }),
  };
}
