import { useTranslation } from 'react-i18next';
import type { Device } from '@station/protocol/devices';
import { BigValue } from './device-tile.tsx';
import { DeviceNote } from './device-note.tsx';
import { capabilityName, valueWords } from '../../i18n/device-words.ts';
import type { ControlledDevice } from './use-device.ts';
import { ValueSlider } from './value-slider.tsx';
import { useLocale } from '../../i18n/use-locale.ts';
import { Card } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { Switch } from '../../ui/switch.tsx';
import { TimeAgo } from '../../ui/time-ago.tsx';

const ruled = 'mt-4 border-t border-line pt-4';

/** What the device says now, and what can be asked of it. */
export function NowCard({ device, shown, usable }: { device: Device; shown: ControlledDevice; usable: boolean }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const { toggle, slider } = shown;
  const heard = device.stateAt !== null;
  const others = shown.readings.filter(
    ({ capability, value }) =>
      value !== undefined && capability !== toggle?.capability && capability !== slider?.capability,
  );
  return (
    <Card
      title={t('device.now')}
      aside={
        heard && (
          <p className="text-small text-ink-soft">
            <TimeAgo at={device.stateAt ?? ''} />
          </p>
        )
      }
    >
      {!heard && shown.readings.every(({ value }) => value === undefined) && (
        <p className="text-ink-soft">{t('device.noState')}</p>
      )}
      {others.length > 0 && (
        <dl className="flex flex-wrap gap-x-10 gap-y-4">
          {others.map((reading) => (
            <div key={reading.capability.name}>
              <dt className="text-small text-ink-soft">{capabilityName(t, reading.capability.name)}</dt>
              <dd className="text-title font-strong md:text-value">
                <BigValue reading={reading} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {toggle && (
        <div className={classNames('flex min-h-11 items-center justify-between gap-4', others.length > 0 && ruled)}>
          <div aria-hidden>
            <p className="text-small text-ink-soft">{capabilityName(t, toggle.capability.name)}</p>
            <p className="text-title font-strong md:text-value">
              <BigValue reading={toggle} />
            </p>
          </div>
          <Switch
            label={capabilityName(t, toggle.capability.name)}
            on={toggle.value === true}
            busy={shown.waiting}
            disabled={!usable}
            onToggle={(on) => shown.ask(toggle, on)}
          />
        </div>
      )}
      {slider && (
        <div className="mt-4">
          <div aria-hidden>
            <p className="text-small text-ink-soft">{capabilityName(t, slider.capability.name)}</p>
            <p className="text-title font-strong md:text-value">
              <BigValue reading={slider} />
            </p>
          </div>
          <ValueSlider
            label={capabilityName(t, slider.capability.name)}
            words={(value) => valueWords(t, locale, { ...slider, value })}
            value={typeof slider.value === 'number' ? slider.value : (slider.capability.min ?? 0)}
            min={slider.capability.min ?? 0}
            max={slider.capability.max ?? 100}
            disabled={!usable}
            onSettle={(value) => shown.ask(slider, value)}
          />
        </div>
      )}
      <DeviceNote device={device} shown={shown} />
    </Card>
  );
}
