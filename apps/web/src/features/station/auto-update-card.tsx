import { useTranslation } from 'react-i18next';
import type { Status } from '@station/protocol/agent-api';
import { Card } from '../../ui/card.tsx';
import { Choice } from '../../ui/fields.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { useAutoUpdate } from './release-commands.ts';

const modes = ['automatic', 'ask'] as const;
type Mode = (typeof modes)[number];

const modeOf = (autoUpdate: boolean): Mode => (autoUpdate ? 'automatic' : 'ask');

/** Whether updates are installed automatically: of the station and of its devices, in one choice. */
export function AutoUpdateCard({
  status: { autoUpdate },
  mayChange,
  usable,
}: {
  status: Status;
  mayChange: boolean;
  usable: boolean;
}) {
  const { t } = useTranslation();
  const choose = useAutoUpdate();
  const mode = modeOf(choose.isPending ? choose.variables : autoUpdate);
  return (
    <Card title={t('station.autoUpdate.title')}>
      {mayChange ? (
        <Choice
          legend={t('station.autoUpdate.question')}
          name="auto-update"
          value={mode}
          disabled={!usable}
          onChange={(wanted) => choose.mutate(wanted === 'automatic')}
          options={modes.map((value) => ({
            value,
            label: t(`station.autoUpdate.${value}`),
            help: t(`station.autoUpdate.help.${value}`),
          }))}
        />
      ) : (
        <>
          <p className="font-strong">{t(`station.autoUpdate.${mode}`)}</p>
          <p className="text-ink-soft">{t(`station.autoUpdate.help.${mode}`)}</p>
        </>
      )}
      <p className="mt-2 min-h-6 text-small text-ink-soft" role="status">
        {choose.isPending && t('station.autoUpdate.saving')}
        {choose.isSuccess && t('station.autoUpdate.saved')}
      </p>
      <ProblemNote error={choose.error} />
      {!mayChange && <p className="text-small text-ink-soft">{t('station.autoUpdate.readOnly')}</p>}
    </Card>
  );
}
