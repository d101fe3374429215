import type { WifiStatus } from '@station/protocol/agent-api';
import type { Tone } from '../../ui/tone.tsx';

export type NetworkLine = {
  key: 'wifi' | 'cable' | 'hotspot' | 'trying' | 'offline';
  tone: Tone;
  ssid: string;
  isWithoutInternet: boolean;
};

/** What is to be said of the network first; null when the agent does not look after it. */
export function networkLine({ mode, ssid, hotspot, watchdog, connectivity }: WifiStatus): NetworkLine | null {
  const isWithoutInternet = connectivity !== null && connectivity !== 'full';
  const online: Tone = isWithoutInternet ? 'attention' : 'ok';
  switch (mode) {
    case 'disabled':
      return null;
    case 'client':
      return { key: 'wifi', tone: online, ssid: ssid ?? '', isWithoutInternet };
    case 'ethernet':
      return { key: 'cable', tone: online, ssid: '', isWithoutInternet };
    case 'hotspot':
      return { key: 'hotspot', tone: 'attention', ssid: hotspot.ssid ?? '', isWithoutInternet: false };
    case 'offline': {
      const isTrying = watchdog.state === 'JOINING' || watchdog.state === 'CHECK' || watchdog.state === 'INIT';
      return {
        key: isTrying ? 'trying' : 'offline',
        tone: isTrying ? 'working' : 'fault',
        ssid: '',
        isWithoutInternet: false,
      };
    }
  }
}
