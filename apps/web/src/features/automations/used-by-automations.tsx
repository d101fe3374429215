import { useTranslation } from 'react-i18next';
import type { Flow } from '@station/protocol/automation-flow';
import { UsedList } from '../../ui/used-by.tsx';
import { titleOf } from './automation-words.ts';
import { useAutomations, useDetails, useSurroundings } from './automations.ts';

/** The automations that use one of these devices, zones or scenes: what their removal would break. */
export function UsedByAutomations({ ids, isLinked = false }: { ids: readonly string[]; isLinked?: boolean }) {
  const { t } = useTranslation();
  const around = useSurroundings();
  const view = useAutomations();
  const details = useDetails(view.kind === 'shown' ? view.value : []);
  if (around === null) return null;
  const used = [...details.values()].filter((one) => uses(one.publishedFlow ?? one.flow, ids));
  const names = used.map((one) => ({
    name: titleOf(around, one),
    href: isLinked ? `/automations/${one.id}` : null,
  }));
  return <UsedList title={t('automations.used', { count: used.length })} names={names} />;
}

/** Also in the condition that a step waits for. */
const uses = ({ nodes }: Flow, ids: readonly string[]): boolean =>
  nodes.some(({ data }) => {
    const { until, ...own } = data.config as Config & { until?: { config?: Config } };
    return [own, until?.config].some((config) => keys.some((key) => ids.includes(String(config?.[key]))));
  });

const keys = ['deviceId', 'zoneId', 'sceneId'] as const;
type Config = Partial<Record<(typeof keys)[number], unknown>>;
