import { access, stat, utimes } from 'node:fs/promises';
import { uptime } from 'node:os';
import type { Clock } from '@station/kit/clock';
import { type Bus, type BusCall, BusError, createBus, systemBusAddress } from '@station/kit/message-bus';
import type { SystemTime } from '../clock-ports.ts';

const service = {
  destination: 'org.freedesktop.timedate1',
  path: '/org/freedesktop/timedate1',
  // It runs only while it is used.
  mayStart: true,
} as const;
const timedate = { ...service, interface: 'org.freedesktop.timedate1' } as const;
const automatic = 'org.freedesktop.timedate1.AutomaticTimeSyncEnabled';
/** Exists since systemd-timesyncd was synchronised (systemd-timesyncd(8), FILES). */
const timesyncFile = '/run/systemd/timesync/synchronized';
/** Its timestamp is the time that systemd-timesyncd restores when it starts and the clock says less (systemd-timesyncd(8), FILES). */
const savedClockFile = '/var/lib/systemd/timesync/clock';
/** Milliseconds for a call, and for stopping or starting the service of NTP. */
const defaultLimits = { callMs: 5_000, switchMs: 15_000 };
type Limits = typeof defaultLimits;
const retryMs = 100;

/**
 * The clock of the machine by systemd-timedated (org.freedesktop.timedate1(5)). `NTPSynchronized` is what the kernel says, so it is true with
 * chrony and ntpd, too.
 * @param options.busAddress D-Bus server address; the system bus when not given.
 * @param options.limits milliseconds; only tests shorten them.
 */
export function createSystemTime(options: {
  clock: Clock;
  busAddress?: string;
  limits?: Limits;
}): SystemTime & AsyncDisposable {
  const { clock, busAddress: address = systemBusAddress, limits = defaultLimits } = options;
  const bus = createBus({ address, rules: [], clock, callMs: limits.callMs });
  return {
    isNtpSynchronized: async () => {
      try {
        const [value] = await bus.call({
          ...service,
          interface: 'org.freedesktop.DBus.Properties',
          member: 'Get',
          signature: 'ss',
          body: [service.destination, 'NTPSynchronized'],
        });
        return typeof value === 'boolean' ? value : null;
      } catch {
        return access(timesyncFile).then(
          () => true,
          () => null,
        );
      }
    },
    uptimeMs: () => Math.round(uptime() * 1000),
    set: (now) => setTime(bus, now, { clock, limits }),
    [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose](),
  };
}

async function setTime(
  bus: Bus,
  now: number,
  { clock, limits: { switchMs } }: { clock: Clock; limits: Limits },
): Promise<void> {
  const startedMs = clock.monotonic();
  const wantedMs = (): number => Math.round(now + clock.monotonic() - startedMs);
  const set = (): Promise<unknown> =>
    bus.call({
      ...timedate,
      member: 'SetTime',
      signature: 'xbb',
      body: [BigInt(wantedMs()) * 1000n, false, false],
    });
  try {
    await set();
  } catch (error) {
    if (!isAutomatic(error)) throw error;
    try {
      // Also when this call has no answer in time, NTP goes on afterwards.
      await bus.call(switchNtp(false, switchMs));
      await setWhenStopped(set, clock, clock.monotonic() + switchMs);
      await lowerSavedClock(wantedMs());
    } finally {
      await bus.call(switchNtp(true, switchMs));
    }
  }
}

const isAutomatic = (error: unknown): boolean => error instanceof BusError && error.errorName === automatic;

/** SetNTP answers before the service of NTP has ended, and until then the time is refused. */
async function setWhenStopped(set: () => Promise<unknown>, clock: Clock, untilMs: number): Promise<void> {
  for (;;) {
    try {
      await set();
      return;
    } catch (error) {
      if (!isAutomatic(error) || clock.monotonic() >= untilMs) throw error;
      await clock.sleep(retryMs);
    }
  }
}

/** systemd-timesyncd saves the clock each minute, right or wrong, and would bring a later time back. */
async function lowerSavedClock(nowMs: number): Promise<void> {
  const saved = await stat(savedClockFile).catch(() => null);
  if (saved !== null && saved.mtimeMs > nowMs) await utimes(savedClockFile, nowMs / 1000, nowMs / 1000);
}

const switchNtp = (isOn: boolean, timeoutMs: number): BusCall => ({
  ...timedate,
  member: 'SetNTP',
  signature: 'bb',
  body: [isOn, false],
  timeoutMs,
});
