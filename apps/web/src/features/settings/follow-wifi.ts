import { useQuery, type QueryClient } from '@tanstack/react-query';
import type { DevicesWifi } from '@station/protocol/devices-wifi';
import type { LiveService } from '../../api/live.ts';
import { useServices } from '../../api/services.ts';

export const devicesWifiKey = ['devices-wifi'];

/** Updates the change of the devices' Wi-Fi from the station's messages. */
export function followDevicesWifi(live: LiveService, queries: QueryClient): void {
  live.onMessage((message) => {
    if (message.type === 'hello') void queries.invalidateQueries({ queryKey: devicesWifiKey });
    if (message.type !== 'devices_wifi') return;
    const { change, stationSsid, offer } = message;
    queries.setQueryData<DevicesWifi>(devicesWifiKey, { change, stationSsid, offer });
  });
}

const seldomMs = 60_000;

/** The network that the station joined while its devices may still be in another; null: there is nothing to offer. */
export function useWifiOffer(mayManage: boolean): string | null {
  const { session } = useServices();
  const { data } = useQuery({
    queryKey: devicesWifiKey,
    queryFn: ({ signal }) => session.call('GET /api/devices/wifi', { signal }),
    enabled: mayManage,
    refetchInterval: seldomMs,
  });
  return mayManage ? (data?.offer?.ssid ?? null) : null;
}
