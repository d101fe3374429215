import type { HotspotLogin } from '@station/protocol/agent-api';

const escaped = (text: string): string => text.replaceAll(/[\\;,:"]/g, '\\$&');

/** What the camera of a phone reads as a Wi-Fi network (the `WIFI:` URI of Wi-Fi Alliance, WPA3 specification, section 7). */
export const wifiCode = ({ ssid, password }: HotspotLogin): string =>
  password === null ? `WIFI:S:${escaped(ssid)};;` : `WIFI:T:WPA;S:${escaped(ssid)};P:${escaped(password)};;`;
