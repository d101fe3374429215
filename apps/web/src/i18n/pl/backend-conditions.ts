export { backendConditionTitle } from '@station/protocol/condition-titles-pl';

/** What helps with them. */
export const backendCondition = {
  foreign_station_devices:
    'Używają identyfikatora innej stacji ({{ids}}) i nie dostają odpowiedzi. Jeśli zmieniono identyfikator tej stacji albo przepadła jej baza danych, administrator powinien znów wpisać tamten identyfikator w pliku ustawień. Jeśli z tego brokera korzysta inna stacja, nie trzeba nic robić.',
  device_logins_missing:
    'Broker wiadomości utracił dane logowania niektórych urządzeń ({{ids}}). Przywróć dane brokera albo skonfiguruj te urządzenia od nowa.',
  devices_reconnecting:
    'Dwie płytki mają ten sam identyfikator ({{ids}}) i rozłączają się nawzajem albo któraś ciągle się restartuje. Wyłącz jedną z nich, aby to sprawdzić, i skonfiguruj ją od nowa z własnym identyfikatorem.',
  automations_broken:
    'Nie ma już czegoś, czego używa, na przykład usuniętego urządzenia. Otwórz Automatyzacje: te, które nie działają, są tam oznaczone. Edytuj je albo wyłącz.',
  storage_full:
    'Stacja nadal pokazuje to, co ma, a wiadomości z urządzeń czekają na miejsce. Zwolnij miejsce na jej dysku; dalej pójdzie automatycznie.',
  storage_unwritable:
    'Stacja nadal pokazuje to, co ma, a wiadomości z urządzeń czekają ({{reason}}). Sprawdź jej dysk, kartę SD lub serwer bazy danych; dalej pójdzie automatycznie.',
  storage_low:
    'Wolne jest około {{freeMb}} MB. Zanim skończy się miejsce, usunięta zostanie najstarsza historia; stany urządzeń są zawsze zapisywane. Zwolnij trochę miejsca albo użyj większego dysku.',
  backup_failed: 'Stacja spróbuje ponownie w ciągu godziny. Ustawienia → Kopia zapasowa pokazują, co poszło nie tak.',
  backup_old:
    'W ostatnich trzech dniach nie powstała dobra kopia zapasowa. Otwórz Ustawienia → Kopia zapasowa i ją utwórz.',
  notifications_failing:
    'Wiadomości są wysyłane ponownie najwyżej przez dobę. Otwórz Ustawienia → Powiadomienia i przetestuj tam kanał.',
  clock_untrusted:
    'Nie wiadomo, czy stacja ma właściwy czas. Na razie nic nie jest usuwane ze względu na wiek, a nowe czasy zostaną później poprawione. Połącz stację z internetem albo ustaw jej zegar poniżej.',
} as const;

/** `storage_low`, if the station says what takes the space. */
export const filledDisk = {
  database:
    'Wolne jest około {{freeMb}} MB. Większość dysku zajmują własne dane stacji: {{databaseMb}} MB. Zanim skończy się miejsce, usunięta zostanie najstarsza historia, najwyżej połowa; stany urządzeń są zawsze zapisywane. Użyj większego dysku albo poproś administratora o mniejszy limit danych w pliku ustawień.',
  other:
    'Wolne jest około {{freeMb}} MB. Dane stacji zajmują {{databaseMb}} MB, a inne pliki {{otherMb}} MB: kopie zapasowe, obrazy lub inne programy. Zwolnij trochę miejsca albo użyj większego dysku. Zanim skończy się miejsce, usunięta zostanie najstarsza historia, najwyżej połowa; stany urządzeń są zawsze zapisywane.',
} as const;

/** In place of the help of `storage_unwritable`. */
export const heldDatabase =
  'Stacja nadal pokazuje to, co ma, a wiadomości z urządzeń czekają: inny program zablokował bazę danych. Zapisz lub zamknij to, co jest w nim otwarte; dalej pójdzie automatycznie.';
