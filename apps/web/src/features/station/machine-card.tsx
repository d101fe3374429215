import { useMutation } from '@tanstack/react-query';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import type { Machine } from '@station/protocol/agent-machine';
import type { Problem } from '../../api/request.ts';
import { useReading } from '../../api/reading.ts';
import { useServices } from '../../api/services.ts';
import { formatBytes, formatDuration } from '../../i18n/format.ts';
import { numberFormat } from '../../i18n/formats.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { Button } from '../../ui/button.tsx';
import { Card, Skeleton } from '../../ui/card.tsx';
import { useConfirm } from '../../ui/confirm.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { type Tone, ToneIcon } from '../../ui/tone.tsx';
import {
  judgeClock,
  judgeDisk,
  judgeLoad,
  judgeMemory,
  judgePower,
  judgeTemperature,
  judgeWear,
} from './machine-view.ts';

const machineKey = ['machine'];

/** Load, memory, disks, temperature and clock of the machine; read only while the page is open. */
export function MachineCard({ usable }: { usable: boolean }) {
  const { t } = useTranslation();
  const view = useReading(machineKey, 'GET /api/system/machine', { isFromAgent: true, isBusy: () => false });
  return (
    <Card title={t('machine.title')}>
      {view.kind === 'loading' && <Skeleton className="h-48 w-full" />}
      {view.kind === 'fault' && <p className="text-ink-soft">{t('machine.fault')}</p>}
      {view.kind === 'shown' && <Facts machine={view.value} usable={usable && view.freshness.kind !== 'stale'} />}
    </Card>
  );
}

type Fact = { key: string; name: string; value: string | null; tone: Tone; help: string };

function Facts({ machine, usable }: { machine: Machine; usable: boolean }) {
  const facts = useFacts(machine);
  return (
    <>
      {machine.model !== null && <p className="-mt-3 mb-4 text-small break-words text-ink-soft">{machine.model}</p>}
      <ul className="space-y-3">
        {facts.map(({ key, name, value, tone, help }) => (
          <li key={key} className="flex gap-3">
            <ToneIcon tone={tone} className="mt-0.5" />
            <div className="min-w-0 flex-1">
              <h3 className="flex flex-wrap justify-between gap-x-3">
                <span className="font-strong break-words">{name}</span>
                {value !== null && <span className="tabular-nums">{value}</span>}
              </h3>
              {help !== '' && <p className="text-small text-ink-soft">{help}</p>}
            </div>
          </li>
        ))}
      </ul>
      {machine.canRestart && <RestartMachine usable={usable} />}
    </>
  );
}

function useFacts(machine: Machine): Fact[] {
  const { t } = useTranslation();
  const locale = useLocale();
  const { queries } = useServices();
  const { load, cores, memory, disks, temperature, power } = machine;
  const facts: Fact[] = [];
  if (load.length > 0) {
    const { tone, word } = judgeLoad(machine);
    const one = numberFormat(locale, { maximumFractionDigits: 1 });
    const value = t('machine.load.value', { load: one.format(load[0] ?? 0), count: cores });
    facts.push({ key: 'load', name: t('machine.load.name'), value, tone, help: t(`machine.load.${word}`) });
  }
  if (memory) {
    const { tone, word } = judgeMemory(memory);
    const of = { free: formatBytes(locale, memory.availableBytes), total: formatBytes(locale, memory.totalBytes) };
    const value = t('machine.memory.value', of);
    facts.push({ key: 'memory', name: t('machine.memory.name'), value, tone, help: t(`machine.memory.${word}`) });
  }
  for (const disk of disks) {
    const { tone, word } = judgeDisk(disk);
    const of = { free: formatBytes(locale, disk.freeBytes), total: formatBytes(locale, disk.totalBytes) };
    const name = disks.length === 1 ? t('machine.disk.name') : t('machine.disk.nameOf', { path: disk.path });
    facts.push({ key: disk.path, name, value: t('machine.disk.value', of), tone, help: t(`machine.disk.${word}`) });
    const wear = wearOf(t, locale, disk);
    if (wear !== null) facts.push({ key: `wear of ${disk.path}`, name: t('machine.wear.name'), ...wear });
  }
  if (temperature !== null) {
    const { tone, word } = judgeTemperature(temperature);
    const value = `${numberFormat(locale, { maximumFractionDigits: 0 }).format(temperature)}\u00a0°C`;
    const name = t('machine.temperature.name');
    facts.push({ key: 'temperature', name, value, tone, help: t(`machine.temperature.${word}`) });
  }
  if (power) {
    const { tone, word } = judgePower(power);
    facts.push({ key: 'power', name: t('machine.power.name'), value: null, tone, help: t(`machine.power.${word}`) });
  }
  const readAt = queries.getQueryState(machineKey)?.dataUpdatedAt ?? Date.now();
  const differenceMs = Math.abs(Date.parse(machine.now) - readAt);
  const { tone, word } = judgeClock(Date.parse(machine.now), readAt);
  const help = t(`machine.clock.${word}`, { duration: formatDuration(locale, differenceMs) });
  facts.push({ key: 'clock', name: t('machine.clock.name'), value: null, tone, help });
  const duration = formatDuration(locale, machine.uptimeSeconds * 1000);
  const value = t('machine.uptime.value', { duration });
  facts.push({ key: 'uptime', name: t('machine.uptime.name'), value, tone: 'ok', help: '' });
  return facts;
}

/** What is written a day, and what of the life of the card is used. Null: neither is known. */
function wearOf(
  t: TFunction,
  locale: string,
  { writtenBytesPerDay, lifeUsedPercent }: Machine['disks'][number],
): Pick<Fact, 'value' | 'tone' | 'help'> | null {
  if (writtenBytesPerDay === null && lifeUsedPercent === null) return null;
  const { tone, word } = judgeWear(lifeUsedPercent);
  const size = writtenBytesPerDay === null ? null : formatBytes(locale, writtenBytesPerDay);
  return {
    value: size && t('machine.wear.value', { size }),
    tone,
    help: t(`machine.wear.${word}`, { percent: lifeUsedPercent ?? 0 }),
  };
}

function RestartMachine({ usable }: { usable: boolean }) {
  const { t } = useTranslation();
  const { session } = useServices();
  const [question, ask] = useConfirm();
  const restart = useMutation<unknown, Problem>({
    mutationFn: () => session.call('POST /api/system/machine/restart'),
  });
  const askToRestart = (): void =>
    ask({
      kind: 'primary',
      title: t('machine.restart.title'),
      text: <p>{t('machine.restart.help')}</p>,
      confirm: t('machine.restart.confirm'),
      keep: t('machine.restart.keep'),
      run: () => restart.mutate(),
    });
  return (
    <div className="mt-4">
      <Button disabled={!usable || restart.isSuccess} onClick={askToRestart}>
        {t('machine.restart.machine')}
      </Button>
      <div role="status" className="mt-2">
        {restart.isSuccess && <p>{t('machine.restart.begun')}</p>}
      </div>
      <ProblemNote error={restart.error} />
      {question}
    </div>
  );
}
