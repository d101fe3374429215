import { useTranslation } from 'react-i18next';
import type { ActionData } from '@station/protocol/automation-flow';
import type { SceneCommand } from '@station/protocol/scenes';
import type { Surroundings } from './automations.ts';
import { actionOptions, canBeCommanded } from './options.ts';
import { SubjectRow } from './part-row.tsx';
import { isGone, partFault } from './sentence.ts';

type CommandData = Extract<ActionData, { kind: 'device_command' }>;

const dataOf = (command: SceneCommand | null): CommandData | null =>
  command && { kind: 'device_command', config: command };

export const isCommandComplete = (around: Surroundings, command: SceneCommand | null): boolean =>
  partFault(around, dataOf(command)) === null;

/** One command of a scene: a device, found by its name, and what it does. */
export function CommandRow({
  name,
  command,
  around,
  isChecked,
  onChange,
  onRemove,
}: {
  name: string;
  /** Null: nothing was chosen yet. */
  command: SceneCommand | null;
  around: Surroundings;
  /** Whether what is missing is marked. */
  isChecked: boolean;
  onChange: (command: SceneCommand) => void;
  onRemove: (() => void) | null;
}) {
  const { t } = useTranslation();
  const fault = partFault(around, dataOf(command));
  return (
    <SubjectRow
      name={name}
      data={dataOf(command)}
      around={around}
      fault={isChecked || isGone(fault) ? fault : null}
      onChange={({ config }) => onChange(config)}
      onRemove={onRemove}
      subjects={{
        label: t('builder.device'),
        others: [],
        otherOf: () => '',
        dataOf: () => null,
        devices: around.devices.filter((device) => {
          const known = around.types.of(device);
          return known !== undefined && canBeCommanded(known);
        }),
        optionsOf: (device) => commandOptions(around, device),
        zones: [],
        zoneOptionsOf: () => [],
      }}
    >
      {null}
    </SubjectRow>
  );
}

/** Without those that every device has: a scene may not send them. */
const commandOptions = (around: Surroundings, deviceId: string): CommandData[] =>
  actionOptions(around, deviceId).flatMap((one) =>
    one.kind === 'device_command' && one.config.action !== 'reboot' ? [one] : [],
  );
