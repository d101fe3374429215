import type { Capability } from '@station/protocol/device-types';
import { ownValue } from '@station/protocol/own-value';
import type { Feature } from './features-decide.ts';
import { type Name, name } from './property-names.ts';

type Flag = { true: Name; false: Name };

const onOff: Flag = {
  true: name('On', 'Ein', 'Włączone', 'Увімкнено'),
  false: name('Off', 'Aus', 'Wyłączone', 'Вимкнено'),
};
const motion: Flag = {
  true: name('Motion', 'Bewegung', 'Ruch', 'Є рух'),
  false: name('No motion', 'Keine Bewegung', 'Brak ruchu', 'Руху немає'),
};
const presence: Flag = {
  true: name('Somebody is there', 'Jemand ist da', 'Ktoś jest', 'Хтось є'),
  false: name('Nobody is there', 'Niemand ist da', 'Nikogo nie ma', 'Нікого немає'),
};
const open = name('Open', 'Offen', 'Otwarte', 'Відчинено');
const closed = name('Closed', 'Geschlossen', 'Zamknięte', 'Зачинено');
const opening: Flag = { true: open, false: closed };
const leak: Flag = {
  true: name('Water leak', 'Wasser ausgetreten', 'Wyciek wody', 'Витік води'),
  false: name('No leak', 'Kein Wasser', 'Brak wycieku', 'Витоку немає'),
};
const carbonMonoxide: Flag = {
  true: name('Carbon monoxide', 'Kohlenmonoxid', 'Czad', 'Чадний газ'),
  false: name('No carbon monoxide', 'Kein Kohlenmonoxid', 'Brak czadu', 'Чадного газу немає'),
};
const batteryLow: Flag = {
  true: name('Battery low', 'Batterie schwach', 'Słaba bateria', 'Батарея розряджена'),
  false: name('Battery fine', 'Batterie in Ordnung', 'Bateria w porządku', 'Батарея в нормі'),
};
const locked = name('Locked', 'Verriegelt', 'Zamknięte na zamek', 'Замкнено');
const unlocked = name('Unlocked', 'Entriegelt', 'Otwarte', 'Відімкнено');

/** What a boolean says, by its name. */
const flags: Readonly<Record<string, Flag>> = {
  occupancy: motion,
  motion,
  moving: motion,
  presence,
  // True: the contact is made (zigbee2mqtt.io, "contact").
  contact: { true: closed, false: open },
  water_leak: leak,
  smoke: {
    true: name('Smoke', 'Rauch', 'Dym', 'Дим'),
    false: name('No smoke', 'Kein Rauch', 'Brak dymu', 'Диму немає'),
  },
  gas: { true: name('Gas', 'Gas', 'Gaz', 'Газ'), false: name('No gas', 'Kein Gas', 'Brak gazu', 'Газу немає') },
  carbon_monoxide: carbonMonoxide,
  vibration: {
    true: name('Vibration', 'Erschütterung', 'Wstrząs', 'Вібрація'),
    false: name('No vibration', 'Keine Erschütterung', 'Brak wstrząsów', 'Вібрації немає'),
  },
  tamper: {
    true: name('Tampered with', 'Manipuliert', 'Sabotaż', 'Втручання'),
    false: name('Not tampered with', 'Nicht manipuliert', 'Brak sabotażu', 'Втручання немає'),
  },
  battery_low: batteryLow,
};

/** And by the class that is announced with it, where that says something else (home-assistant.io, "Binary sensor"). */
const classes: Readonly<Record<string, Flag>> = {
  opening,
  door: opening,
  window: opening,
  garage_door: opening,
  moisture: leak,
  battery: batteryLow,
  lock: { true: unlocked, false: locked },
};

const automatic = name('Automatic', 'Automatik', 'Automatycznie', 'Автоматично');
const heating = name('Heating', 'Heizen', 'Ogrzewanie', 'Обігрів');
const cooling = name('Cooling', 'Kühlen', 'Chłodzenie', 'Охолодження');
const stopped = name('Stopped', 'Angehalten', 'Zatrzymane', 'Зупинено');

/** Values of enums that many devices have, in lower case. */
const words: Readonly<Record<string, Name>> = {
  on: onOff.true,
  off: onOff.false,
  open,
  closed,
  opening: name('Opening', 'Öffnet', 'Otwiera się', 'Відчиняється'),
  closing: name('Closing', 'Schließt', 'Zamyka się', 'Зачиняється'),
  stopped,
  auto: automatic,
  heat: heating,
  heating,
  cool: cooling,
  cooling,
  dry: name('Drying', 'Entfeuchten', 'Osuszanie', 'Осушення'),
  fan_only: name('Fan only', 'Nur Lüften', 'Tylko wentylator', 'Лише вентилятор'),
  idle: name('Idle', 'In Ruhe', 'Bezczynne', 'Очікування'),
  previous: name('As before', 'Wie zuvor', 'Jak poprzednio', 'Як раніше'),
};

/** Undefined: its values have no names of their own. */
export function valueNamesOf({ property, group, name: named, says }: Feature): Capability['valueNames'] {
  if (property.kind === 'boolean') {
    if (group === 'lock' && named === 'state') return { true: locked, false: unlocked };
    const flag = says === undefined ? ownValue(flags, named) : (ownValue(classes, says) ?? ownValue(flags, says));
    return flag ?? (property.isSettable ? onOff : undefined);
  }
  if (property.kind !== 'enum') return undefined;
  const known = property.values.map(String).flatMap((value) => {
    const found = ownValue(words, value.toLowerCase());
    return found === undefined ? [] : ([[value, found]] as const);
  });
  return known.length === 0 ? undefined : Object.fromEntries(known);
}
