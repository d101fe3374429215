import type { Machine } from './machine.ts';
import type { Phone } from './phone.ts';
import type { DeviceLetter } from './programs/device-letter.ts';

/** A device after it was set up: in the Wi-Fi, in place of the phone, and at the station's broker. One at a time. */
export type Twin = {
  /** Joins the Wi-Fi that it was told and connects to the broker that it was told. @throws when it cannot join. */
  start(letter: DeviceLetter, type: string): Promise<void>;
  /** Idempotent. */
  stop(): Promise<void>;
};

const letterFile = '/run/vstation/letter.json';
const unit = 'vstation-twin';

export function createTwin(machine: Machine, phone: Phone): Twin {
  const stop: Twin['stop'] = async () => {
    await machine.must(`systemctl stop ${unit} 2>/dev/null; rm -f ${letterFile}`);
    await phone.leave();
  };
  return {
    start: async (letter, type) => {
      await stop();
      await phone.join(letter.ssid, letter.password === '' ? {} : { password: letter.password });
      await machine.writeFile(letterFile, JSON.stringify(letter), { mode: 0o600 });
      await machine.must(
        `systemd-run -q --collect --unit=${unit} -p NetworkNamespacePath=/run/netns/phone /payload/node /payload/programs/twin.mjs ${letterFile} ${type}`,
      );
    },
    stop,
  };
}
