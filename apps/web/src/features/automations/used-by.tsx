import { useTranslation } from 'react-i18next';
import type { Flow } from '@station/protocol/automation-flow';
import { titleOf } from './automation-words.ts';
import { useAutomations, useDetails, useSurroundings } from './automations.ts';

/** The automations that use a device or a scene: what its removal would break. */
export function UsedBy({ id }: { id: string }) {
  const { t } = useTranslation();
  const around = useSurroundings();
  const view = useAutomations();
  const details = useDetails(view.kind === 'shown' ? view.value : []);
  if (around === null) return null;
  const used = [...details.values()].filter((one) => uses(one.publishedFlow ?? one.flow, id));
  if (used.length === 0) return null;
  return (
    <div>
      <p>{t('automations.used.title', { count: used.length })}</p>
      <ul className="list-disc pl-6">
        {used.map((one) => (
          <li key={one.id} className="break-words">
            {titleOf(around, one)}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Also in the condition that a step waits for. */
const uses = ({ nodes }: Flow, id: string): boolean =>
  nodes.some(({ data }) => {
    const { until, ...own } = data.config as Config & { until?: { config?: Config } };
    return [own.deviceId, own.sceneId, until?.config?.deviceId].includes(id);
  });

type Config = { deviceId?: unknown; sceneId?: unknown };
